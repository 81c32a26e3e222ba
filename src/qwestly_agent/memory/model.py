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
# States pass only ids to each other; results are in the batch. A state that runs again finds its results and changes
# nothing: a batch is named after its first message, a memory after its index in the batch.


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
    """Derive the id from the batch's first message and the memories that were unchecked at that time."""
    tried = (f"{each.id} {each.tries}" for each in waiting)
    return f"ex_{sha256_hex(given.user_id, given.conversation_id, str(read_from), *tried)[:32]}"


def memory_id(batch: Batch, at: int) -> str:
    return f"mem_{sha256_hex(batch.id, str(at))[:32]}"


async def check_still_exists(
    conversations: Conversations, memories: Memories, unchecked: Unchecked, extractions: Extractions, batch: Batch
) -> None:
    """Check that the conversation and its user still exist. Called after writing, so that either this call sees a
    concurrent deletion, or the deletion sees what was written. Raises `NotFound`."""
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
# Of equivalent memories one stays; of contradictory ones the newer stays; the others name it as their replacement.
# Nothing is invented, averaged or deleted. States pass only ids and counts to each other. The plan is written to the
# journal before it is applied, and a state that runs again continues where it ended.


class ConsolidationState(UserState):
    planned: int = 0
    """Number of memories that could be merged or superseded."""
    begun: int = 0
    """Number of planned replacements that are in the journal, within the cap."""
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
    """The input and output of states that process many users. The execution is named after the night, so a second start
    has no effect; without a run id, each start creates a new execution."""

    began_after: str | None = None
    """The last user of the previous night; None on the first page."""
    after: str = ""
    """The last user of the previous page."""
    again: bool = False
    """True after the last id, when the run has wrapped around to the first."""
    users: tuple[str, ...] = ()
    more: bool = False
    """True if there may be further users."""
    seen: int = 0
    """Number of users in all pages so far."""
    broken: int = 0
    """Number of users for whom the next night will fail as well."""
    results: tuple[ConsolidationState, ...] = Field(default=(), exclude=True)


async def end(merges: Merges, journal: Journal, run: ConsolidationRun, now: float) -> None:
    """Mark the run as applied, so that nothing is left to do."""
    await merges.mark_compared(run.user_id, run.compared)
    await journal.end(run, "applied", now)
