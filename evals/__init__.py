"""Measure how well the checks of statements agree with claims that people labelled."""
