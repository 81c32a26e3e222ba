"""The outside systems that are not the database, each behind a small class of its own."""
