"""Make texts safe to store, to show, and to put into a prompt."""
