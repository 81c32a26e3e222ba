"""One turn: what was asked (`request`), how it begins (`prepare_turn`), what the model sees (`context`, `window`), the
run (`run`, `turn_registry`), the wire (`stream`), what is kept (`record`) and how it is shown (`view`)."""
