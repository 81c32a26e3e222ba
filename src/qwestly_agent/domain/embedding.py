"""The dimensions of all vectors."""

DIMENSIONS = 1536
