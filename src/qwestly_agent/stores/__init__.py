"""MongoDB stores that take and return domain objects. Every method takes a user id, except in `docs` and `due`."""
