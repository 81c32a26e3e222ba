"""The user's own changes on the memories page: correct, undo, explain."""

from dataclasses import dataclass
from datetime import date

from qwestly_agent.approvals import pause
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.domain.activity import of_memory
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.memory import Memory
from qwestly_agent.memory.equality import hash_of
from qwestly_agent.memory.find import vectors_or_none
from qwestly_agent.memory.sensitive import is_credential, is_sensitive
from qwestly_agent.memory.write import HOLDS_NO_MORE, IMPORTANCE, keep
from qwestly_agent.services import ModelServices
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.memories import Memories
from qwestly_agent.text.clean import visible

_NO_UNDO = "This cannot be undone any more. You can correct it, or have it forgotten."


@dataclass(frozen=True)
class Explanation:
    """A memory and its origin."""

    memory: Memory
    said_on: date | None
    title: str
    """Title of the conversation in which it was said; empty if that was deleted."""
    before: tuple[Memory, ...]
    """The memories that it replaced."""


async def correct(services: ModelServices, user_id: str, memory_id: str, content: str) -> Memory:
    """Replace a memory with the user's text; the older one is superseded and keeps its text. Raises `NotFound`,
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
    """Undo that a memory was stored or corrected, within a day. Memories that it had replaced become active again and
    are returned. A tombstone prevents extracting the same words again. Raises `NotFound` and `Invalid`."""
    try:
        memory = await services.memories.get(user_id, memory_id)
    except NotFound:  # also when retrying an undo that did not finish
        await services.tombstones.end(user_id, [memory_id], services.clock())
        raise
    if memory.undo_until < services.clock() or memory.status not in ("active", "unchecked"):
        raise Invalid(_NO_UNDO)
    await pause.check(services.signals, user_id)
    replaced = await services.memories.list_replaced_by(user_id, [memory_id])
    # Restore first: if the process dies in between, both are active and the undo can be repeated.
    restored = [each for each in replaced if await services.memories.restore(user_id, each.id, memory_id)]
    event = of_memory("undone", user_id, memory_id, services.clock())
    corrected = await services.tombstones.begin(user_id, [memory_id], services.clock(), event)
    await services.tombstones.end(user_id, [memory_id], services.clock())
    if newer := corrected.get(memory_id):  # by the user, at the same moment
        for each in restored:
            await services.memories.supersede(user_id, each.id, newer, services.clock())
    await services.conversations.drop_contexts(user_id)
    held = await services.memories.get_many(user_id, [each.id for each in restored])
    return [each for each in held if each.status == "active"]


async def explain(conversations: Conversations, memories: Memories, user_id: str, memory_id: str) -> Explanation:
    """Return the memory with its origin and the memories that it replaced. Raises `NotFound`."""
    memory = await memories.get(user_id, memory_id)
    before = await memories.list_replaced_by(user_id, [memory.id])
    said_on = to_datetime(memory.last_seen).date() if memory.last_seen and memory.count == 1 else None
    if said_on is None and memory.created_at:
        said_on = memory.created_at.date()
    return Explanation(memory, said_on, await _title(conversations, user_id, memory), tuple(before))


async def _title(conversations: Conversations, user_id: str, memory: Memory) -> str:
    if memory.source.conversation_id is None:
        return ""
    try:
        return (await conversations.get(user_id, memory.source.conversation_id)).get("title", "")
    except NotFound:
        return ""
