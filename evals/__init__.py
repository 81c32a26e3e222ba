"""Measure the truth checks against claims that people labelled."""
