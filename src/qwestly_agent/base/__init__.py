"""Basics that every package may import; imports none of our packages."""
