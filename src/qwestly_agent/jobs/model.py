"""Inputs and outputs of the `scout_jobs` states. They contain only ids and counts; the results are stored with the
user's search."""

from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.workflow_state import EndingState

# --- scout state ------------------------------------------------------------------------------------------------------


MOST_REQUESTS = 5
"""Maximum model requests per search: one for vectors, two comparisons, one to the judge, and one retry."""


class ScoutState(EndingState):
    at_night: bool = False
    found: int = 0
    """Number of jobs that were not excluded."""


def run_of(user_id: str, key: str) -> str:
    """Return the name of the execution for this user and key (a day or a request)."""
    return f"scout-{sha256_hex(user_id, key)[:32]}"
