"""Imported by everything, and imports nothing of ours."""
