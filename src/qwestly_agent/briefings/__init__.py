"""Briefings: new and pending items, at the hour that each user chose."""
