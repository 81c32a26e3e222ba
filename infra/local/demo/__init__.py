"""A demo user with data in each tier, and Qwestly's own documentation."""
