"""Typed answers of models: budget, retries and failures."""
