"""Make texts safe to store, to show, and to use in a prompt."""
