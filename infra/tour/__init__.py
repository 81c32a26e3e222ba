"""A recording of the demo that needs no installation."""
