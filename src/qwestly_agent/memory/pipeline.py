"""The states of `extract_memories`, each by the name that it has in the state machine; three of them stand in
`reading.py` and `storing.py`, so that the others do without what takes longest to import.

What passes from state to state are ids; what was found stands in the batch. A state that is delivered again finds what
it did, and changes nothing: a batch is named by where it begins, a memory by its place in its batch.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

from aws_lambda_powertools import Logger
from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.approvals.end import discard, expire, scrub
from qwestly_agent.approvals.execute import ExecuteServices, execute
from qwestly_agent.approvals.memory_approval import id_of_question
from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import NotFound, Unavailable
from qwestly_agent.base.observability import Event
from qwestly_agent.domain.approval import FINAL, Approval, Status, sha256_hex
from qwestly_agent.domain.memory import Memory
from qwestly_agent.services import HasLogger, HasNewId, HasSweeps
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.extractions import Batch, Extractions
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.signals import Signals
from qwestly_agent.workflow_state import run_state, sanitize_errors


class ExtractionServices(ExecuteServices, HasLogger, HasNewId, HasSweeps, Protocol): ...


MOST_AT_A_TIME = 40
"""Conversations of one sweep: their states and their answers are one execution's history."""
PICKED_SECONDS = 1_800.0
"""So long a conversation that was picked is nobody else's: longer than all tries of its states take."""
TRY_AGAIN_SECONDS = (600.0, 3_600.0, 6 * 3_600.0, 24 * 3_600.0)
"""After each attempt that failed; after the last one it is set aside."""
POSTPONED_SECONDS = 3_600.0
"""What is no fault of the conversation, the brake, a day's budget or a provider that refuses us, is no attempt."""
CHECK_AGAIN_SECONDS, LONGEST_CHECK_SECONDS = 3_600.0, 86_400.0
"""After no judge could be asked about something: twice as long each time, up to a day."""
_NOT_ITS_FAULT = ("Braked", "OverBudget", "ModelRefused")

T = TypeVar("T")


class Step(BaseModel):
    """What a state is handed and hands on."""

    # An execution may have begun before the last deployment: it may say more, or less, than this.
    model_config = ConfigDict(frozen=True, extra="ignore")

    user_id: str
    conversation_id: str
    run_id: str = ""
    batch_id: str | None = None
    """None where nothing was to be read."""
    memory_ids: tuple[str, ...] = ()
    """Of what waits for a yes."""
    proposed: bool = False
    approval_id: str | None = None
    decided: "Decided | None" = Field(default=None, exclude=True)
    error: "Failure | None" = Field(default=None, exclude=True)
    end: Literal["kept", "rejected", "expired", "later", "refused", "set_aside", "gone"] | None = None

    @property
    def out(self) -> dict[str, Any]:
        """Every field, for the state machine may ask for any."""
        return self.model_dump(mode="json")

    @property
    def labels(self) -> dict[str, str]:
        return {"run_id": self.run_id, "conversation_id": self.conversation_id}


class Decided(BaseModel):
    approval_id: str | None = None


class Failure(BaseModel):
    """What a Catch puts beside the input of the state that failed."""

    kind: str = Field(default="", alias="Error")


async def sweep(services: ExtractionServices) -> dict[str, Any]:
    """The conversations that are to be read, each picked for this run."""
    now, run_id = services.clock(), services.new_id()
    due = await services.sweeps.silent_conversations(now, MOST_AT_A_TIME)
    picked = await asyncio.gather(
        *(
            services.conversations.pick(user_id, conversation_id, now, now + PICKED_SECONDS)
            for user_id, conversation_id in due
        )
    )
    mine = [each for each, was_picked in zip(due, picked, strict=True) if was_picked]
    return {
        "run_id": run_id,
        "conversations": [
            {"user_id": user_id, "conversation_id": conversation_id, "run_id": run_id}
            for user_id, conversation_id in mine
        ],
    }


async def move_watermark(services: ExtractionServices, step: Step) -> Step:
    """Under the brake as well: what was stored is read."""
    return await sanitize_errors(
        services.logger,
        _move_watermark(services.conversations, services.extractions, services.clock, step),
        **step.labels,
    )


async def _move_watermark(conversations: Conversations, extractions: Extractions, clock: Clock, step: Step) -> Step:
    if batch := await batch_of(extractions, step):
        now = clock()
        await conversations.move_watermark(step.user_id, step.conversation_id, batch.read_from, batch.read_to, now)
        if batch.tries:
            wait = min(CHECK_AGAIN_SECONDS * 2 ** (batch.tries - 1), LONGEST_CHECK_SECONDS)
            await conversations.due_later(step.user_id, step.conversation_id, now + wait)
    return step


# --- what is sensitive ------------------------------------------------------------------------------------------------


async def keep_approved(services: ExtractionServices, step: Step) -> Step:
    """After the person decided, or nobody did. Raises `Unavailable` while nobody knows what became of a yes."""
    return await sanitize_errors(services.logger, _keep_approved(services, step), **step.labels)


async def _keep_approved(services: ExtractionServices, step: Step) -> Step:
    approval_id = (step.decided and step.decided.approval_id) or step.approval_id or id_of_question(step.batch_id or "")
    try:
        approval = await _decided(services.approvals, services.clock, step.user_id, approval_id)
    except NotFound:  # it was never asked, or its user erased everything meanwhile
        await services.memories.drop_proposed(step.user_id, step.memory_ids)
        return step.model_copy(update={"end": "gone"})
    # Also where another delivery had begun; of one that is not to be done it is as it is.
    approval = await execute(services, step.user_id, approval_id)
    if approval.status not in FINAL:
        raise Unavailable
    await discard(services.memories, services.clock, approval)
    await scrub(services.approvals, step.user_id, approval_id)
    return step.model_copy(update={"approval_id": approval_id, "end": _ENDS.get(approval.status, "expired")})


_ENDS: Mapping[Status, Literal["kept", "rejected"]] = {"done": "kept", "rejected": "rejected"}
"""Whatever else became of the question: it was not answered with yes in time."""


async def _decided(approvals: Approvals, clock: Clock, user_id: str, approval_id: str) -> Approval:
    approval = await approvals.get(user_id, approval_id)
    while approval.status == "pending":
        expired = await expire(approvals, approval, clock())
        approval = expired or await approvals.get(user_id, approval_id)
    return approval


# --- when it went wrong -----------------------------------------------------------------------------------------------


async def set_back(services: ExtractionServices, step: Step) -> Step:
    """A conversation that could not be read fails alone, and is read again later; after the last try it is set aside
    with its cause. Under the brake as well."""
    return await sanitize_errors(
        services.logger, _set_back(services.conversations, services.clock, services.logger, step), **step.labels
    )


async def _set_back(conversations: Conversations, clock: Clock, logger: Logger, step: Step) -> Step:
    cause, now = step.error.kind if step.error else "", clock()
    try:
        reading = await conversations.reading(step.user_id, step.conversation_id)
    except NotFound:  # its user deleted it
        return step.model_copy(update={"end": "gone"})
    if cause in _NOT_ITS_FAULT:
        await conversations.set_back(step.user_id, step.conversation_id, now + POSTPONED_SECONDS, reading.attempts)
        # Of what concerns everybody the execution tells by failing.
        return step.model_copy(update={"end": "refused" if cause == "ModelRefused" else "later"})
    attempts = reading.attempts + 1
    if attempts <= len(TRY_AGAIN_SECONDS):
        due_at = now + TRY_AGAIN_SECONDS[attempts - 1]
        await conversations.set_back(step.user_id, step.conversation_id, due_at, attempts)
        return step.model_copy(update={"end": "later"})
    aside = {"cause": cause, "at": now, "attempts": attempts}
    await conversations.set_back(step.user_id, step.conversation_id, 0.0, attempts, aside)
    logger.error(Event.SET_ASIDE, extra={"code": cause})
    return step.model_copy(update={"end": "set_aside"})


# --- what a step has --------------------------------------------------------------------------------------------------


async def state(signals: Signals, logger: Logger, step: Step, work: Coroutine[Any, Any, T]) -> T:
    return await run_state(signals, logger, step.user_id, work, **step.labels)


async def batch_of(extractions: Extractions, step: Step) -> Batch | None:
    return await extractions.get(step.user_id, step.batch_id) if step.batch_id else None


def batch_id_of(step: Step, read_from: int, waiting: Sequence[Memory]) -> str:
    """Named by where it begins, and by what waits for a judge then."""
    tried = (f"{each.id} {each.tries}" for each in waiting)
    return f"ex_{sha256_hex(step.user_id, step.conversation_id, str(read_from), *tried)[:32]}"


def memory_id(batch: Batch, at: int) -> str:
    return f"mem_{sha256_hex(batch.id, str(at))[:32]}"


async def must_be_there(
    conversations: Conversations, memories: Memories, extractions: Extractions, batch: Batch
) -> None:
    """Of a conversation that was deleted meanwhile, or whose user left, nothing is kept: asked after writing, so that
    either we see that it is gone, or whoever deletes it sees what we wrote. Raises `NotFound`."""
    if not await conversations.exists(batch.user_id, batch.conversation_id):
        made = [memory_id(batch, at) for at in range(len(batch.found))]
        waiting = await memories.unchecked(batch.user_id, batch.conversation_id)
        await memories.discard(batch.user_id, made)
        await memories.drop_unchecked(batch.user_id, [each.id for each in waiting])
        await extractions.drop(batch.user_id, batch.conversation_id)
        raise NotFound("There is no such conversation.")
