"""The input and output of the states of `consolidate`.

Of memories that say the same one stays, and of those that contradict each other the newer: the others name it as what
holds in their place. Nothing is invented or averaged, and nothing is deleted. What passes from state to state are ids
and counts. What is to be done stands in the journal before it is begun, and a state that is delivered again goes on
where it ended.
"""

from pydantic import Field

from qwestly_agent.stores.journal import ConsolidationRun, Journal
from qwestly_agent.stores.merges import Merges
from qwestly_agent.workflow_state import UserState, WorkflowState

YEAR = 365 * 86_400.0
"""In seconds."""


class ConsolidationState(UserState):
    planned: int = 0
    """Memories that could be merged or superseded."""
    begun: int = 0
    """Memories of these that are in the journal, within the cap."""
    merged: int = 0
    """Memories that were merged or superseded."""
    questions: int = 0
    """Number of questions to the user about possibly outdated memories: one or none."""
    error: str = ""
    """The kind of the error."""

    @property
    def run_name(self) -> str:
        return f"consolidation-{self.run_id}"


class ConsolidationPage(WorkflowState):
    """The input and output of the states that concern many users.

    The run is the night: one that is started twice is one run; without an id it is one of its own.
    """

    began_after: str | None = None
    """The last user of the night before; None on the first page."""
    after: str = ""
    """The last user of the page before."""
    again: bool = False
    """True if it is past the last id and continued with the first."""
    users: tuple[str, ...] = ()
    more: bool = False
    """True if there may be further users."""
    seen: int = 0
    """Users of all pages so far."""
    broken: int = 0
    """Users for whom the next night will fail too."""
    results: tuple[ConsolidationState, ...] = Field(default=(), exclude=True)


async def end(merges: Merges, journal: Journal, run: ConsolidationRun, now: float) -> None:
    """End the run: nothing is left to do."""
    await merges.mark_compared(run.user_id, run.compared)
    await journal.end(run, "applied", now)
