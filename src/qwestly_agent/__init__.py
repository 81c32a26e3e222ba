"""Qwestly's career agent: everything behind the handlers in `functions/`."""

import gc

# What is imported stays: looking for garbage in it every 2,000 objects was a twelfth of the chat function's cold start.
gc.set_threshold(50_000, 10, 10)
