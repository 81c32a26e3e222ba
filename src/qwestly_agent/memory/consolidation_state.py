"""The input and output of the states of `consolidate`.

Of equivalent memories one stays, of contradicting ones the newer; the others name it as their replacement. Nothing is
invented, averaged or deleted. Only ids and counts pass from state to state. The plan is in the journal before it is
applied, and a repeated state continues where it ended.
"""

from pydantic import Field

from qwestly_agent.stores.memory_work import ConsolidationRun, Journal, Merges
from qwestly_agent.workflow_state import UserState, WorkflowState

YEAR = 365 * 86_400.0
"""A year in seconds."""


class ConsolidationState(UserState):
    planned: int = 0
    """Number of memories that could be merged or superseded."""
    begun: int = 0
    """Number of these that are in the journal, within the cap."""
    merged: int = 0
    """Number of memories that were merged or superseded."""
    questions: int = 0
    """Number of approvals requested for possibly outdated memories: one or none."""
    error: str = ""
    """The type of the error."""

    @property
    def run_name(self) -> str:
        return f"consolidation-{self.run_id}"


class ConsolidationPage(WorkflowState):
    """The input and output of states that process many users. The execution is named after the night, so that a second
    start has no effect; without a run id, each start is a new execution.
    """

    began_after: str | None = None
    """The last user of the previous night; None on the first page."""
    after: str = ""
    """The last user of the previous page."""
    again: bool = False
    """True after the last id, when it continues with the first."""
    users: tuple[str, ...] = ()
    more: bool = False
    """True if there may be further users."""
    seen: int = 0
    """Number of users of all pages so far."""
    broken: int = 0
    """Number of users for whom the next night will fail, too."""
    results: tuple[ConsolidationState, ...] = Field(default=(), exclude=True)


async def end(merges: Merges, journal: Journal, run: ConsolidationRun, now: float) -> None:
    """Mark the run as applied: nothing is left to do."""
    await merges.mark_compared(run.user_id, run.compared)
    await journal.end(run, "applied", now)
