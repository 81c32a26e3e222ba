"""Approvals, drafts and memories created by a conversation's answers."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel
from pydantic_ai.messages import ToolReturnPart

from qwestly_agent.agents.tools.knowledge import remembered_id
from qwestly_agent.agents.tools.work import show_approval
from qwestly_agent.base.clock import Moment
from qwestly_agent.chat.prompt import as_model_saw
from qwestly_agent.domain.approval import Approval
from qwestly_agent.domain.memory import Memory, MemoryStatus
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.stores.messages import Message

# --- outcomes ---------------------------------------------------------------------------------------------------------
# Approvals, drafts and memories created by a conversation's answers, and which answer shows each.


T = TypeVar("T", Approval, Draft)


@dataclass(frozen=True)
class AnswerItems:
    """The approvals, drafts and memories that a conversation's answers created, newest first."""

    approvals: Sequence[Approval]
    drafts: Sequence[Draft]
    memories: Sequence[Memory]
    is_paused: bool
    """True if the brake is on, which freezes pending approvals."""


def items_made_by(message: Message, made: Sequence[T]) -> list[T]:
    """Return the items created by this answer or by the answers that it replaced, oldest first."""
    runs = (message.run_id, *message.replaces) if message.role == "assistant" else ()
    return [each for each in reversed(made) if each.run_id in runs]


def reshown_approvals(message: Message) -> set[str]:
    """Return the ids of the approvals whose cards this answer showed again."""
    ids = set()
    for step in message.steps:
        if step.name == show_approval.__name__ and step.ok:
            with suppress(ValueError):  # cut
                ids.add(json.loads(step.arguments)["approval_id"])
    return ids


def approvals_shown_with(message: Message, approvals: Sequence[Approval]) -> list[Approval]:
    """Return the approvals that this answer requested, and those that it showed again."""
    asked, again = items_made_by(message, approvals), reshown_approvals(message)
    return [*asked, *(each for each in approvals if each.id in again and each not in asked)]


# --- remembered view --------------------------------------------------------------------------------------------------
# Memories that an answer stored at once, as the chat shows them, with the time until which they can be undone.


class RememberedView(BaseModel):
    id: str
    content: str
    status: MemoryStatus
    """`unchecked`: stored, but not used until it is checked."""
    undo_until: Moment | None
    """Null if it cannot be undone."""


def remembered_view(memory: Memory) -> RememberedView:
    return RememberedView(
        **memory.model_dump(include={"id", "content", "status"}), undo_until=memory.undo_until or None
    )


def ids_of(message: Message) -> list[str]:
    """Return the ids of the memories stored or corrected by this answer, or by the answers that it replaced."""
    if not any(step.effect == "memory" and step.ok for step in message.steps):
        return list(message.remembered_before)
    parts = [part for each in as_model_saw(message) for part in each.parts]
    ids = [remembered_id(part.content) for part in parts if isinstance(part, ToolReturnPart)]
    return [*message.remembered_before, *(each for each in ids if each)]


def current_memories(message: Message, memories: Sequence[Memory]) -> list[Memory]:
    """Return this answer's memories that were not replaced or undone since."""
    ids = ids_of(message)
    return [each for each in memories if each.id in ids and each.status in ("active", "unchecked")]
