"""The state of `extract_memories` that writes: what was decided becomes memories."""

from collections.abc import Sequence
from datetime import datetime

from qwestly_agent.bootstrap import House
from qwestly_agent.clock import to_datetime
from qwestly_agent.memory.forgetting import was_forgotten
from qwestly_agent.memory.model import Memory
from qwestly_agent.memory.notes import Decision, Kept
from qwestly_agent.memory.pipeline import Step, batch_of, memory_id, must_be_there, state
from qwestly_agent.observability import measure_extraction
from qwestly_agent.stores.extractions import Batch


async def store(house: House, step: Step) -> Step:
    """With the ids of what waits for a yes."""
    return await state(house, step, _store(house, step))


async def _store(house: House, step: Step) -> Step:
    batch = await batch_of(house, step)
    if batch is None:
        return step
    proposed = batch.proposed
    if batch.status == "decided":
        decisions = [Decision.model_validate(each) for each in batch.decisions]
        stored = [
            await _apply(house, batch, at, _resolved(batch, decisions, decision), batch.vectors[at])
            for at, decision in enumerate(decisions)
        ]
        await must_be_there(house, batch)
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
    target = earlier.target if earlier.verb == "reinforce" else memory_id(batch, place)
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
        id=memory_id(batch, at),
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


def _valid_from(found: Kept, replaces: str | None) -> datetime | None:
    """Since when it holds: as they said, or since they told that it changed."""
    if found.since:
        return datetime.fromisoformat(found.since)
    return to_datetime(found.said_at) if replaces else None
