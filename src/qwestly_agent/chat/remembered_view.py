"""Memories that an answer stored at once, as the chat shows them, with the time until which undo works."""

from collections.abc import Sequence

from pydantic import BaseModel
from pydantic_ai.messages import ToolReturnPart

from qwestly_agent.agents.tools.knowledge import remembered_id
from qwestly_agent.base.clock import Moment
from qwestly_agent.chat.prompt import as_model_saw
from qwestly_agent.domain.memory import Memory, MemoryStatus
from qwestly_agent.stores.messages import Message


class RememberedView(BaseModel):
    id: str
    content: str
    status: MemoryStatus
    """`unchecked`: stored, but not used until it is checked."""
    undo_until: Moment | None
    """Null if it cannot be undone."""


def view_of(memory: Memory) -> RememberedView:
    return RememberedView(
        id=memory.id,
        content=memory.content,
        status=memory.status,
        undo_until=memory.undo_until or None,
    )


def ids_of(message: Message) -> list[str]:
    """Return the ids of the memories that this answer stored or corrected, or those that it replaced."""
    if not any(step.effect == "memory" and step.ok for step in message.steps):
        return list(message.remembered_before)
    parts = [part for each in as_model_saw(message) for part in each.parts]
    ids = [remembered_id(part.content) for part in parts if isinstance(part, ToolReturnPart)]
    return [*message.remembered_before, *(each for each in ids if each)]


def current_memories(message: Message, memories: Sequence[Memory]) -> list[Memory]:
    """Return this answer's memories that were not replaced or undone since."""
    ids = ids_of(message)
    return [each for each in memories if each.id in ids and each.status in ("active", "unchecked")]
