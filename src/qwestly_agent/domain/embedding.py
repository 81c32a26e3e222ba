"""A text as a vector, of whatever kind the text is."""

DIMENSIONS = 1536
