"""One typed answer of a model: budget, retries and what went wrong."""
