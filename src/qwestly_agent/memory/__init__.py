"""What is remembered about a user between conversations."""
