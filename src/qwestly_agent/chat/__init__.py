"""One turn: what was asked (`request`), how it begins (`opening`), what the model sees (`context`, `window`), the run
(`turn`, `running`), the wire (`stream`), what is kept (`record`) and how it is shown (`view`)."""
