"""A chat turn: parsing (`request`), preparation (`prepare_turn`), the prompt (`context`, `window`), the run (`run`,
`turn_registry`), the wire protocols (`stream`), the record (`turn_record`) and the API's views (`*_view`)."""
