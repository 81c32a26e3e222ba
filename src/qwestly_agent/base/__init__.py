"""Basics that every package may import; this package imports none of ours."""
