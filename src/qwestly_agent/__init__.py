"""Qwestly's career agent: everything behind the handlers in `functions/`."""

import gc

# Imported objects are never garbage: collecting during the imports took a tenth of each cold start. `bootstrap` resets
# this.
gc.set_threshold(400_000, 10, 10)
