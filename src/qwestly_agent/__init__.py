"""Qwestly's career agent: everything worth reading that stands behind the doors in `functions/`."""
