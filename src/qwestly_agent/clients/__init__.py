"""Clients of external systems other than the database, one small class each."""
