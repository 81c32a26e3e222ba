"""Variants of a design, prompt or model, tried beside the base on a growing share of the users."""
