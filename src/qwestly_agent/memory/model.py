"""The input and output of the states of `extract_memories` and `consolidate`."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.memory import Memory
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.memory_work import Batch, ConsolidationRun, Extractions, Journal, Merges, Unchecked
from qwestly_agent.workflow_state import CaughtError, TokenAnswer, UserState, WorkflowState

# --- extraction state -------------------------------------------------------------------------------------------------
# The input and output of the states of `extract_memories`.
#
# Only ids pass from state to state; results are in the batch. A repeated state finds its results and changes nothing: a
# batch is named by its first message, a memory by its index in its batch.


class ExtractionState(UserState):
    conversation_id: str
    batch_id: str | None = None
    """None if there was nothing to read."""
    memory_ids: tuple[str, ...] = ()
    """Ids of memories that wait for approval."""
    proposed: bool = False
    approval_id: str | None = None
    decided: TokenAnswer | None = Field(default=None, exclude=True)
    error: CaughtError | None = Field(default=None, exclude=True)
    end: Literal["kept", "rejected", "expired", "later", "refused", "set_aside", "gone"] | None = None

    @property
    def run_name(self) -> str:
        return f"memories-{self.conversation_id}"

    @property
    def labels(self) -> dict[str, str]:
        return {"run_id": self.run_id, "conversation_id": self.conversation_id}


async def batch_of(extractions: Extractions, given: ExtractionState) -> Batch | None:
    return await extractions.get(given.user_id, given.batch_id) if given.batch_id else None


def batch_id_of(given: ExtractionState, read_from: int, waiting: Sequence[Memory]) -> str:
    """Derive the id from the batch's first message, and from the unchecked memories at that time."""
    tried = (f"{each.id} {each.tries}" for each in waiting)
    return f"ex_{sha256_hex(given.user_id, given.conversation_id, str(read_from), *tried)[:32]}"


def memory_id(batch: Batch, at: int) -> str:
    return f"mem_{sha256_hex(batch.id, str(at))[:32]}"


async def check_still_exists(
    conversations: Conversations, memories: Memories, unchecked: Unchecked, extractions: Extractions, batch: Batch
) -> None:
    """Check that the conversation and its user still exist. Called after writing: either this sees the deletion, or the
    deletion sees what was written. Raises `NotFound`."""
    if not await conversations.exists(batch.user_id, batch.conversation_id):
        made = [memory_id(batch, at) for at in range(len(batch.found))]
        waiting = await unchecked.list_of_conversation(batch.user_id, batch.conversation_id)
        await memories.discard(batch.user_id, made)
        await unchecked.delete(batch.user_id, [each.id for each in waiting])
        await extractions.delete_unstored(batch.user_id, batch.conversation_id)
        raise NotFound("There is no such conversation.")


# --- consolidation state ----------------------------------------------------------------------------------------------
# The input and output of the states of `consolidate`.
#
# Of equivalent memories one stays, of contradicting ones the newer; the others name it as their replacement. Nothing is
# invented, averaged or deleted. Only ids and counts pass from state to state. The plan is in the journal before it is
# applied, and a repeated state continues where it ended.


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
