"""A demo user with something in each tier, and Qwestly's own documentation."""
