"""Measures what judges truth against claims that people labelled."""
