"""Write a memory that the user asked for, and supersede the one that it replaces."""

from typing import Protocol

from qwestly_agent.approvals.end import EndServices, end_empty
from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import Invalid
from qwestly_agent.domain.activity import ActivityEvent, of_memory
from qwestly_agent.domain.memory import Memory
from qwestly_agent.memory.equality import hash_of
from qwestly_agent.services import (
    HasConversations,
    HasNewId,
    HasUnchecked,
)
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.memories import Memories

HOLDS_NO_MORE = "That does not hold any more: something else has taken its place."
IMPORTANCE = 0.7
"""Importance of a memory that the user asked for explicitly."""


class WriteMemoryServices(EndServices, HasConversations, HasNewId, HasUnchecked, Protocol): ...


async def write(
    services: WriteMemoryServices, user_id: str, memory: Memory, vector: list[float], replaces: Memory | None
) -> Memory:
    """Store the memory, or find the equal one that exists, and supersede what it replaces."""
    now, key, new_id = services.clock(), hash_of(memory.content), memory.id
    corrects = replaces is not None and replaces.status == "active" and memory.status != "unchecked"
    where = memory.source.conversation_id

    def new(memory_id: str) -> list[ActivityEvent]:
        # A correction is told with what it replaces, once that is replaced.
        return [] if corrects else [of_memory("remembered", user_id, memory_id, now, conversation_id=where)]

    equal = (await services.memories.of_hashes(user_id, [key])).get(key)
    if equal and equal.status == "unchecked" and memory.status == "active":
        memory = memory.model_copy(update={"id": equal.id})
        await services.unchecked.settle(user_id, memory, key, vector, (), new(equal.id))
    elif equal:
        await services.memories.keep_proposed(user_id, [equal.id], now)
        await services.memories.reinforce(user_id, equal.id, memory.source.message_ids or (services.new_id(),), now)
        memory = equal
    elif not await services.memories.add(user_id, memory, key, vector, now, events=new(memory.id)):
        return (await services.memories.of_hashes(user_id, [key])).get(key) or await services.memories.get(
            user_id, memory.id
        )
    if replaces and replaces.id != memory.id and memory.status != "unchecked":
        event = of_memory("corrected", user_id, memory.id, now, conversation_id=where)
        if not await services.memories.supersede(user_id, replaces.id, memory.id, now, [event]):
            if memory.id == new_id:  # not an equal memory that existed before
                await _remove_new(
                    services.conversations, services.memories, services.clock, user_id, memory.id, replaces.id
                )
            raise Invalid(HOLDS_NO_MORE)
        if replaces.status == "proposed":
            await services.approvals.scrub_memories(user_id, [replaces.id])
            await end_empty(services, user_id)
    return await services.memories.get(user_id, memory.id)


async def _remove_new(
    conversations: Conversations, memories: Memories, clock: Clock, user_id: str, memory_id: str, replaced_id: str
) -> None:
    """Remove the new memory, as what it was to replace was forgotten, or replaced by something else."""
    [won, *_] = [each.superseded_by for each in await memories.of_ids(user_id, [replaced_id])] or [None]
    if not (won and await memories.supersede(user_id, memory_id, won, clock())):
        await memories.discard(user_id, [memory_id])
        await conversations.drop_contexts(user_id)
