"""Qwestly's career agent: everything worth reading that stands behind the doors in `functions/`."""

import gc

# What is imported stays: looking for garbage in it every 2,000 objects was a twelfth of the chat door's cold start.
gc.set_threshold(50_000, 10, 10)
