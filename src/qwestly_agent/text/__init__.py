"""Make texts safe to store, to display, and to use in a prompt."""
