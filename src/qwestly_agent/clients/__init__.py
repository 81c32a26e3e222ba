"""Clients of external systems other than the database, each a small class."""
