"""Memories about a user, kept between conversations."""
