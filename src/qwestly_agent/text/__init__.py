"""Texts made safe: to keep, to show, and to put before a model."""
