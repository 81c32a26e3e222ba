"""The states of `extract_memories`, each by the name that it has in the state machine.

What passes from state to state are ids; what was found stands in the batch. A state that is delivered again finds what
it did, and changes nothing: a batch is named by where it begins, a memory by its place in its batch.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.authority.approvals import expire, scrub
from qwestly_agent.authority.carrying_out import carry_out
from qwestly_agent.authority.keeping import id_of_question, let_go
from qwestly_agent.authority.model import FINAL, Approval, Status, digest_of
from qwestly_agent.bootstrap import FullHouse, House
from qwestly_agent.clock import to_datetime
from qwestly_agent.errors import NotFound, Unavailable
from qwestly_agent.memory.extraction import MOST_PROMPT_CHARACTERS, Kept, said_in
from qwestly_agent.memory.extraction import extract as find_memories
from qwestly_agent.memory.forgetting import was_forgotten
from qwestly_agent.memory.model import Memory
from qwestly_agent.memory.reconciliation import Decision
from qwestly_agent.memory.reconciliation import reconcile as decide_on
from qwestly_agent.observability import Event, measure_extraction
from qwestly_agent.states import run_state, told_safely
from qwestly_agent.stores.extractions import Batch

MOST_AT_A_TIME = 40
"""Conversations of one sweep: their states and their answers are one execution's history."""
MOST_MESSAGES = 200
"""Read at a time; what follows them is due at once again."""
PICKED_SECONDS = 1_800.0
"""So long a conversation that was picked is nobody else's: longer than all tries of its states take."""
TRY_AGAIN_SECONDS = (600.0, 3_600.0, 6 * 3_600.0, 24 * 3_600.0)
"""After each attempt that failed; after the last one it is set aside."""
POSTPONED_SECONDS = 3_600.0
"""What is nobody's fault, the brake or a day's budget, is no attempt."""
_NOBODYS_FAULT = ("Braked", "OverBudget")

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
    end: Literal["kept", "rejected", "expired", "later", "set_aside", "gone"] | None = None

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


async def sweep(house: House) -> dict[str, Any]:
    """The conversations that are to be read, each picked for this run."""
    now, run_id = house.clock(), house.new_id()
    due = await house.sweeps.silent_conversations(now, MOST_AT_A_TIME)
    picked = await asyncio.gather(
        *(
            house.conversations.pick(user_id, conversation_id, now, now + PICKED_SECONDS)
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


# --- from what was said to what is remembered -------------------------------------------------------------------------


async def extract(house: FullHouse, step: Step) -> Step:
    """With the batch of what was found. Raises what `one_answer` raises."""
    return await _state(house, step, _extract(house, step))


async def _extract(house: FullHouse, step: Step) -> Step:
    await house.conversations.recover_abandoned(step.user_id, step.conversation_id, house.new_id(), house.clock())
    reading = await house.conversations.reading(step.user_id, step.conversation_id)
    batch_id = _batch_id(step, reading.read_to)
    if await house.extractions.find(step.user_id, batch_id):
        return step.model_copy(update={"batch_id": batch_id})
    # With the message before the first: a short answer is understood by what was asked.
    messages = await house.conversations.since(
        step.user_id, step.conversation_id, max(0, reading.read_to - 1), MOST_MESSAGES
    )
    said, characters = [], 0
    for each in said_in(messages, reading.read_to):
        characters += sum(map(len, each.typed))
        if characters > MOST_PROMPT_CHARACTERS and said:
            break
        said.append(each)
    read_to = _read_to(messages, {each.id for each in said}, reading.read_to)
    if read_to == reading.read_to:
        await house.conversations.move_watermark(
            step.user_id, step.conversation_id, reading.read_to, reading.read_to, house.clock()
        )
        return step
    found, dropped = await find_memories(house, step.user_id, step.conversation_id, said)
    batch = Batch(
        id=batch_id,
        user_id=step.user_id,
        conversation_id=step.conversation_id,
        run_id=step.run_id,
        read_from=reading.read_to,
        read_to=read_to,
        found=[each.model_dump(mode="json") for each in found],
        dropped=dropped,
        created_at=house.clock(),
    )
    await house.extractions.add(batch)
    await _must_be_there(house, batch)
    return step.model_copy(update={"batch_id": batch_id})


async def _must_be_there(house: House, batch: Batch) -> None:
    """Of a conversation that was deleted meanwhile, or whose user left, nothing is kept: asked after writing, so that
    either we see that it is gone, or whoever deletes it sees what we wrote. Raises `NotFound`."""
    if not await house.conversations.exists(batch.user_id, batch.conversation_id):
        made = [_memory_id(batch, at) for at in range(len(batch.found))]
        await house.memories.discard(batch.user_id, made)
        await house.extractions.drop(batch.user_id, batch.conversation_id)
        raise NotFound("There is no such conversation.")


def _read_to(messages: list[Any], said: set[str], read_from: int) -> int:
    """The `seq` up to which all is read: before the first of the user's messages that was not."""
    read = read_from
    for message in messages:
        if message.seq > read_from and message.role == "user" and message.id not in said and not message.withheld:
            break
        read = max(read, message.seq)
    return read


async def reconcile(house: FullHouse, step: Step) -> Step:
    return await _state(house, step, _reconcile(house, step))


async def _reconcile(house: FullHouse, step: Step) -> Step:
    batch = await _batch(house, step)
    if batch is None or batch.status != "found":
        return step
    decisions, vectors = await decide_on(house, step.user_id, [Kept.model_validate(each) for each in batch.found])
    dropped = dict(batch.dropped)
    for reason in (each.reason for each in decisions if each.reason):
        dropped[reason] = dropped.get(reason, 0) + 1
    written = [each.model_dump(mode="json") for each in decisions]
    await house.extractions.decide(step.user_id, batch.id, written, vectors, dropped)
    return step


async def store(house: House, step: Step) -> Step:
    """With the ids of what waits for a yes."""
    return await _state(house, step, _store(house, step))


async def _store(house: House, step: Step) -> Step:
    batch = await _batch(house, step)
    if batch is None:
        return step
    proposed = batch.proposed
    if batch.status == "decided":
        decisions = [Decision.model_validate(each) for each in batch.decisions]
        stored = [
            await _apply(house, batch, at, _resolved(batch, decisions, decision), batch.vectors[at])
            for at, decision in enumerate(decisions)
        ]
        await _must_be_there(house, batch)
        proposed = tuple(memory.id for memory in stored if memory and memory.status == "proposed")
        await house.extractions.stored(step.user_id, batch.id, proposed)
        verbs = [each.verb for each in decisions]
        measure_extraction(verbs, len(proposed), batch.dropped)
    return step.model_copy(update={"memory_ids": proposed, "proposed": bool(proposed)})


def _resolved(batch: Batch, decisions: Sequence[Decision], decision: Decision) -> Decision:
    """With the memory that an earlier decision of the same batch makes, or reinforces, as its target."""
    if decision.target is None or not decision.target.startswith("#"):
        return decision
    place = int(decision.target[1:])
    earlier = _resolved(batch, decisions, decisions[place])
    if earlier.verb == "skip":
        return decision.model_copy(update={"verb": "add", "target": None})
    target = earlier.target if earlier.verb == "reinforce" else _memory_id(batch, place)
    return decision.model_copy(update={"target": target})


async def _apply(house: House, batch: Batch, at: int, decision: Decision, vector: tuple[float, ...]) -> Memory | None:
    """The memory that it made, if it made one."""
    found, user_id, now = decision.found, batch.user_id, house.clock()
    if decision.verb == "skip":
        return None
    if decision.verb == "reinforce" and decision.target:
        await house.memories.reinforce(user_id, decision.target, found.source.message_ids, found.said_at)
        return None
    replaces = decision.target if decision.verb == "supersede" else None
    memory = Memory(
        id=_memory_id(batch, at),
        status="proposed" if found.sensitive else "active",
        last_seen=found.said_at,
        valid_from=_valid_from(found, replaces),
        **found.model_dump(
            include={"type", "content", "quote", "question", "trust", "importance", "confidence", "sensitive", "source"}
        ),
    )
    added = await house.memories.add(user_id, memory, found.hash, vector, now, replaces=replaces)
    if not added and not await house.memories.has(user_id, memory.id):
        # Somebody else stored the same this very moment, or its user had it forgotten.
        same = (await house.memories.of_hashes(user_id, [found.hash])).get(found.hash)
        if same:
            await house.memories.reinforce(user_id, same.id, found.source.message_ids, found.said_at)
        return None
    if await _is_forgotten(house, user_id, found, vector):
        # Meanwhile: asked after writing, as above.
        await house.memories.forget(user_id, [memory.id], {}, now)
        return None
    if replaces and memory.status == "active":
        await house.memories.supersede(user_id, replaces, memory.id, now)
    return memory


async def _is_forgotten(house: House, user_id: str, found: Kept, vector: Sequence[float]) -> bool:
    [tombstones] = await house.memories.tombstones(user_id, [(found.content, vector)])
    return was_forgotten(user_id, found.content, tombstones, house.settings.memory_forgotten_from)


def _memory_id(batch: Batch, at: int) -> str:
    return f"mem_{digest_of(batch.id, str(at))[:32]}"


def _valid_from(found: Kept, replaces: str | None) -> datetime | None:
    """Since when it holds: as they said, or since they told that it changed."""
    if found.since:
        return datetime.fromisoformat(found.since)
    return to_datetime(found.said_at) if replaces else None


async def move_watermark(house: House, step: Step) -> Step:
    """Under the brake as well: what was stored is read."""
    return await told_safely(house, _move_watermark(house, step), **step.labels)


async def _move_watermark(house: House, step: Step) -> Step:
    if batch := await _batch(house, step):
        await house.conversations.move_watermark(
            step.user_id, step.conversation_id, batch.read_from, batch.read_to, house.clock()
        )
    return step


# --- what is sensitive ------------------------------------------------------------------------------------------------


async def keep_approved(house: House, step: Step) -> Step:
    """After the person decided, or nobody did. Raises `Unavailable` while nobody knows what became of a yes."""
    return await told_safely(house, _keep_approved(house, step), **step.labels)


async def _keep_approved(house: House, step: Step) -> Step:
    approval_id = (step.decided and step.decided.approval_id) or step.approval_id or id_of_question(step.batch_id or "")
    try:
        approval = await _decided(house, step.user_id, approval_id)
    except NotFound:  # it was never asked, or its user erased everything meanwhile
        await house.memories.drop_proposed(step.user_id, step.memory_ids)
        return step.model_copy(update={"end": "gone"})
    # Also where another delivery had begun; of one that is not to be done it is as it is.
    approval = await carry_out(house, step.user_id, approval_id)
    if approval.status not in FINAL:
        raise Unavailable
    await let_go(house, approval)
    await scrub(house, step.user_id, approval_id)
    return step.model_copy(update={"approval_id": approval_id, "end": _ENDS.get(approval.status, "expired")})


_ENDS: Mapping[Status, Literal["kept", "rejected"]] = {"done": "kept", "rejected": "rejected"}
"""Whatever else became of the question: it was not answered with yes in time."""


async def _decided(house: House, user_id: str, approval_id: str) -> Approval:
    approval = await house.approvals.get(user_id, approval_id)
    while approval.status == "pending":
        expired = await expire(house, approval, house.clock())
        approval = expired or await house.approvals.get(user_id, approval_id)
    return approval


# --- when it went wrong -----------------------------------------------------------------------------------------------


async def set_back(house: House, step: Step) -> Step:
    """A conversation that could not be read fails alone, and is read again later; after the last try it is set aside
    with its cause. Under the brake as well."""
    return await told_safely(house, _set_back(house, step), **step.labels)


async def _set_back(house: House, step: Step) -> Step:
    cause, now = step.error.kind if step.error else "", house.clock()
    try:
        reading = await house.conversations.reading(step.user_id, step.conversation_id)
    except NotFound:  # its user deleted it
        return step.model_copy(update={"end": "gone"})
    if cause in _NOBODYS_FAULT:
        await house.conversations.set_back(
            step.user_id, step.conversation_id, now + POSTPONED_SECONDS, reading.attempts
        )
        return step.model_copy(update={"end": "later"})
    attempts = reading.attempts + 1
    if attempts <= len(TRY_AGAIN_SECONDS):
        due_at = now + TRY_AGAIN_SECONDS[attempts - 1]
        await house.conversations.set_back(step.user_id, step.conversation_id, due_at, attempts)
        return step.model_copy(update={"end": "later"})
    aside = {"cause": cause, "at": now, "attempts": attempts}
    await house.conversations.set_back(step.user_id, step.conversation_id, 0.0, attempts, aside)
    house.logger.error(Event.SET_ASIDE, extra={"code": cause})
    return step.model_copy(update={"end": "set_aside"})


# --- what a step has --------------------------------------------------------------------------------------------------


async def _state(house: House, step: Step, work: Coroutine[Any, Any, T]) -> T:
    return await run_state(house, step.user_id, work, **step.labels)


async def _batch(house: House, step: Step) -> Batch | None:
    return await house.extractions.get(step.user_id, step.batch_id) if step.batch_id else None


def _batch_id(step: Step, read_from: int) -> str:
    return f"ex_{digest_of(step.user_id, step.conversation_id, str(read_from))[:32]}"
