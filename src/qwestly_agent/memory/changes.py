"""Write, correct, undo and explain memories."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import date

from qwestly_agent.approvals import pause
from qwestly_agent.base.clock import Clock, to_datetime
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.domain.activity import ActivityEvent, of_memory
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.memory import Memory
from qwestly_agent.memory.find import vectors_or_none
from qwestly_agent.memory.forget import end_empty, log_forgetting
from qwestly_agent.memory.notes import hash_of, is_credential, is_sensitive
from qwestly_agent.services import ModelServices, Services
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.memories import Memories
from qwestly_agent.text.clean import visible

# --- write ------------------------------------------------------------------------------------------------------------
# Write a memory: notes and the user's statements become memories only here.


HOLDS_NO_MORE = "That does not hold any more: something else has taken its place."
FORGOTTEN = "The user had that forgotten this very moment, so it is not remembered."
IMPORTANCE = 0.7
"""Importance of a memory that the user explicitly asked to store."""


async def write_memory(
    services: Services,
    user_id: str,
    memory: Memory,
    vector: Sequence[float],
    replaces: Sequence[str] = (),
    *,
    was_unchecked: bool = False,
    events: Callable[[str], Sequence[ActivityEvent]] = lambda _: (),
    is_forgotten: Callable[[Memory], Awaitable[bool]] | None = None,
) -> Memory | None:
    """Add the memory, or count a repetition of an equal one; return the resulting memory, or None if it is gone.

    An active memory supersedes those it replaces; a proposed one does so after approval. `was_unchecked`: this is the
    judged version of the unchecked memory with the same id. `events` maps the id of the added memory to its events.
    `is_forgotten` is called after writing, so that either it sees a concurrent forgetting of the same content, or the
    forgetting sees this memory.
    """
    key, now = hash_of(memory.content), services.clock()
    if was_unchecked:
        is_new = await services.unchecked.replace_judged(user_id, memory, key, vector, replaces, events(memory.id))
    else:
        is_new = await services.memories.add(
            user_id, memory, key, vector, now, replaces=replaces, events=events(memory.id)
        )
    if not is_new and not await _is_there(services.memories, user_id, memory):
        equal = (await services.memories.find_by_hashes(user_id, [key])).get(key)
        if equal is None or memory.status == "unchecked":
            return equal
        judged = memory.model_copy(update={"id": equal.id})
        if equal.status != "unchecked" or not await services.unchecked.replace_judged(
            user_id, judged, key, vector, replaces, events(equal.id)
        ):
            return await count_repetition(services.memories, services.clock, user_id, equal.id, memory, replaces)
        memory = judged
    if is_forgotten and await is_forgotten(memory):
        await services.tombstones.forget(user_id, [memory.id], now)
        return None
    if memory.status == "active":
        for each in replaces:
            await services.memories.supersede(user_id, each, memory.id, now)
    return memory


async def count_repetition(
    memories: Memories, clock: Clock, user_id: str, memory_id: str, said: Memory, replaces: Sequence[str] = ()
) -> Memory | None:
    """Count a repetition of a memory; if both are active, supersede those that the new one replaces. Returns None if
    the memory is gone."""
    await memories.reinforce(
        user_id, memory_id, said.source.message_ids, said.last_seen, about_writing=said.about_writing
    )
    [standing] = await memories.get_many(user_id, [memory_id]) or [None]
    if standing and standing.status == said.status == "active":
        for each in replaces:
            await memories.supersede(user_id, each, memory_id, clock())
    return standing


async def keep(
    services: Services,
    user_id: str,
    memory: Memory,
    vector: Sequence[float],
    known: Memory | None,
    is_forgotten: Callable[[Memory], Awaitable[bool]] | None = None,
) -> Memory:
    """Write a memory that the user asked to store, replacing the `known` one if given. Raises `Invalid` if the memory
    was just forgotten, or if the known one is no longer active."""
    now, where = services.clock(), memory.source.conversation_id
    corrects = known is not None and known.status == "active" and memory.status != "unchecked"

    def events(memory_id: str) -> list[ActivityEvent]:
        # A correction is reported with the memory that it replaces, after the replacement.
        return [] if corrects else [of_memory("remembered", user_id, memory_id, now, conversation_id=where)]

    kept = await write_memory(services, user_id, memory, vector, events=events, is_forgotten=is_forgotten)
    if kept is None:
        raise Invalid(FORGOTTEN)
    if kept.status == "proposed":  # an identical memory was already waiting for approval
        await services.memories.activate_proposed(user_id, [kept.id], now)
    if known and known.id != kept.id and memory.status != "unchecked":
        event = of_memory("corrected", user_id, kept.id, now, conversation_id=where)
        if not await services.memories.supersede(user_id, known.id, kept.id, now, [event]):
            if kept.id == memory.id:
                await _remove_new(services, user_id, memory.id, known.id)
            raise Invalid(HOLDS_NO_MORE)
        if known.status == "proposed":
            await services.approvals.scrub_memories(user_id, [known.id])
            await end_empty(services, user_id)
    return await services.memories.get(user_id, kept.id)


async def _is_there(memories: Memories, user_id: str, memory: Memory) -> bool:
    """True if an earlier invocation already wrote the memory."""
    return memory.status in {each.status for each in await memories.get_many(user_id, [memory.id])}


async def _remove_new(services: Services, user_id: str, memory_id: str, replaced_id: str) -> None:
    """Remove the new memory, because the one it was to replace was forgotten or replaced by another."""
    [won, *_] = [each.superseded_by for each in await services.memories.get_many(user_id, [replaced_id])] or [None]
    if not (won and await services.memories.supersede(user_id, memory_id, won, services.clock())):
        await services.memories.discard(user_id, [memory_id])
        await services.conversations.drop_contexts(user_id)


# --- edit -------------------------------------------------------------------------------------------------------------
# Changes that the user makes on the memories page: correct, undo, explain.


_NO_UNDO = "This cannot be undone any more. You can correct it, or have it forgotten."


@dataclass(frozen=True)
class Provenance:
    """A memory and its origin."""

    memory: Memory
    said_on: date | None
    title: str
    """Title of the conversation in which the user said it; empty if the conversation was deleted."""
    before: tuple[Memory, ...]
    """The memories that this one replaced."""


async def correct(services: ModelServices, user_id: str, memory_id: str, content: str) -> Memory:
    """Replace a memory with the user's text; the old one is marked as superseded and keeps its text. Raises `NotFound`,
    `Invalid` and `Unavailable`."""
    known = await services.memories.get(user_id, memory_id)
    if known.status not in ("active", "proposed", "unchecked"):
        raise Invalid(HOLDS_NO_MORE)
    content = " ".join(visible(content).split())
    if not any(map(str.isalnum, content)):
        raise Invalid("There is nothing in that to remember.")
    if is_credential(content):
        raise Invalid("Passwords, keys and addresses are not remembered.")
    await pause.check(services.signals, user_id)
    memory = Memory(
        id=f"mem_{sha256_hex(user_id, services.new_id(), hash_of(content))[:32]}",
        type=known.type,
        content=content,
        importance=max(IMPORTANCE, known.importance),
        quote=content,
        sensitive=known.sensitive or is_sensitive(content),
        about_writing=known.about_writing,
        last_seen=services.clock(),
    )
    [vector] = await vectors_or_none(services.embeddings, services.logger, [content])
    return await keep(services, user_id, memory, vector, known)


async def undo(services: ModelServices, user_id: str, memory_id: str) -> list[Memory]:
    """Undo storing or correcting a memory, within a day. Memories that it had replaced are reactivated and returned. A
    tombstone prevents extracting the same words again. Raises `NotFound`, `Invalid` and `Unavailable`."""
    try:
        memory = await services.memories.get(user_id, memory_id)
    except NotFound:  # also when an unfinished undo is retried
        await _restore_replaced(services.memories, user_id, memory_id)
        await services.tombstones.end(user_id, [memory_id], services.clock())
        raise
    if memory.undo_until < services.clock() or memory.status not in ("active", "unchecked"):
        raise Invalid(_NO_UNDO)
    await pause.check(services.signals, user_id)
    await log_forgetting(services, user_id, [memory_id])
    # Restore first: if the process dies in between, both are active and the undo can be repeated.
    restored = await _restore_replaced(services.memories, user_id, memory_id)
    event = of_memory("undone", user_id, memory_id, services.clock())
    corrected = await services.tombstones.begin(user_id, [memory_id], services.clock(), event)
    # A consolidation may have replaced others meanwhile; from here on, it sees that this memory is gone.
    restored += await _restore_replaced(services.memories, user_id, memory_id)
    await services.tombstones.end(user_id, [memory_id], services.clock())
    if newer := corrected.get(memory_id):  # the user corrected it at the same moment
        for each in restored:
            await services.memories.supersede(user_id, each.id, newer, services.clock())
    await services.conversations.drop_contexts(user_id)
    held = await services.memories.get_many(user_id, [each.id for each in restored])
    return [each for each in held if each.status == "active"]


async def _restore_replaced(memories: Memories, user_id: str, memory_id: str) -> list[Memory]:
    """Reactivate the memories that this one had replaced; return them."""
    replaced = await memories.list_replaced_by(user_id, [memory_id])
    return [each for each in replaced if await memories.restore(user_id, each.id, memory_id)]


async def explain(conversations: Conversations, memories: Memories, user_id: str, memory_id: str) -> Provenance:
    """Return the memory with its origin and the memories that it replaced. Raises `NotFound`."""
    memory = await memories.get(user_id, memory_id)
    before = await memories.list_replaced_by(user_id, [memory.id])
    said_on = to_datetime(memory.last_seen).date() if memory.last_seen and memory.count == 1 else None
    if said_on is None and memory.created_at:
        said_on = memory.created_at.date()
    return Provenance(memory, said_on, await _title(conversations, user_id, memory), tuple(before))


async def _title(conversations: Conversations, user_id: str, memory: Memory) -> str:
    if memory.source.conversation_id is None:
        return ""
    try:
        return (await conversations.get(user_id, memory.source.conversation_id)).get("title", "")
    except NotFound:
        return ""
