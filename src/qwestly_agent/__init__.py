"""Qwestly's career agent: everything behind the handlers in `functions/`."""

import gc

# What is imported stays: looking for garbage in it was a tenth of each cold start. `bootstrap` ends this.
gc.set_threshold(400_000, 10, 10)
