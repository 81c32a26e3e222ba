"""The input and output of the states of `scout_jobs`: ids. Results are in the user's search."""

from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.workflow_state import EndingState

# --- scout state ------------------------------------------------------------------------------------------------------


MOST_REQUESTS = 5
"""Model requests of a search: one for vectors, two comparisons, one to the judge, and one retry."""


class ScoutState(EndingState):
    at_night: bool = False
    found: int = 0
    """Number of jobs that no limit ruled out."""


def run_of(user_id: str, key: str) -> str:
    """Return the execution's name for this user and key, which is a day or a request."""
    return f"scout-{sha256_hex(user_id, key)[:32]}"
