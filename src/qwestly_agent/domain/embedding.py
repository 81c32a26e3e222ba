"""The dimensions of every vector."""

DIMENSIONS = 1536
