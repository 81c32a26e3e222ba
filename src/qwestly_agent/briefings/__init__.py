"""Briefings: what is new and what waits, at each user's own hour."""
