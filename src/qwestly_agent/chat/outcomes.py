"""Approvals, drafts and memories made by a conversation's answers, and the answer that shows each."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from qwestly_agent.agents.tools.work import show_approval
from qwestly_agent.domain.approval import Approval
from qwestly_agent.domain.memory import Memory
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.stores.messages import Message

T = TypeVar("T", Approval, Draft)


@dataclass(frozen=True)
class AnswerItems:
    """The approvals, drafts and memories that a conversation's answers made, newest first."""

    approvals: Sequence[Approval]
    drafts: Sequence[Draft]
    memories: Sequence[Memory]
    is_paused: bool
    """True if the brake is on: pending approvals are frozen."""


def items_of_answer(message: Message, made: Sequence[T]) -> list[T]:
    """Return the items that this answer made, or those that it replaced; oldest first."""
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
    asked, again = items_of_answer(message, approvals), reshown_approvals(message)
    return [*asked, *(each for each in approvals if each.id in again and each not in asked)]
