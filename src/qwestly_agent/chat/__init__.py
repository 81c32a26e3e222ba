"""A chat turn: parsing the request (`turn_request`), opening and closing (`turn_store`), the turn (`turn`), its prompt
(`prompt`), the run (`run_turn`, `services`), the wire protocols (`stream`), and the API's views (`*_view`)."""
