"""Steps on the stack's page."""

import uuid

PATIENCE_MILLISECONDS = 30_000


def stranger() -> str:
    """Return a new, unknown user."""
    return f"auth0|{uuid.uuid4().hex}"
