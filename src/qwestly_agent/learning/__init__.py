"""Learning: a library of topics, lessons that cite it, and questions that come back when they are due."""
