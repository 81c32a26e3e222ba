"""MongoDB stores, in the words of the domain. Every method takes a user id, except in `docs` and `due`."""
