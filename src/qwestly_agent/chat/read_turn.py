"""Read what a turn's prompt needs: what was said, and what is known of the user."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from qwestly_agent.approvals import pause
from qwestly_agent.base.clock import Clock
from qwestly_agent.chat.turn_request import TurnRequest
from qwestly_agent.chat.under_way import UnderWay, read_under_way
from qwestly_agent.chat.window import READ_LIMIT
from qwestly_agent.domain.approval import Approval, Level
from qwestly_agent.domain.memory import FoundMemory, Memory
from qwestly_agent.domain.rollout import Rollout
from qwestly_agent.memory.find import MOST_SALIENT, best_by_words
from qwestly_agent.rollout.choose import read_rollout
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.message import Message
from qwestly_agent.stores.messages import Messages

MOST_DRAFTS_TOLD = 5


@dataclass(frozen=True)
class History:
    """The newest messages, and the earlier turn of the posted message id if there is one."""

    recent: Sequence[Message]
    exchange: Sequence[Message]


@dataclass(frozen=True)
class ContextData:
    """Data for a context made now."""

    profile: dict[str, Any]
    """With employment and preferences."""
    zone: str
    """The user's time zone."""
    memories: list[Memory]
    """The most salient ones, plus one if there are more."""
    by_words: list[FoundMemory] | None
    """The best for the first message; None if the conversation is probably not new."""
    last_withdrawn: float | None
    level: Level
    unreported: list[Approval]
    """Approvals whose outcome the model was not told yet."""
    ended: list[Draft]
    """Ended drafts that the model was not told of yet."""
    under_way: UnderWay
    """In all conversations."""
    rollout: Rollout | None
    variant: str | None
    """The variant that an operator pinned the user to."""


async def read_said(messages: Messages, user_id: str, conversation_id: str, request: TurnRequest) -> History:
    recent = messages.list_recent(user_id, conversation_id, READ_LIMIT)
    if request.message_id is None:
        return History(await recent, [])
    return History(*await asyncio.gather(recent, messages.get_exchange(user_id, conversation_id, request.message_id)))


async def read_known(services: Services, user_id: str, conversation_id: str, request: TurnRequest) -> ContextData:
    """Raises `Braked`."""
    (profile, settings, rollout), (memories, by_words), last_withdrawn, level, told, _ = await asyncio.gather(
        asyncio.gather(
            services.profiles.get_career(user_id),
            services.user_settings.get(user_id),
            read_rollout(services.rollouts, services.logger),
        ),
        _read_memories(services.memories, services.clock, user_id, request),
        services.memories.last_withdrawn_at(user_id),
        services.autonomy.level(user_id),
        asyncio.gather(
            services.approvals.list_unreported(user_id, conversation_id),
            services.drafts.list_unreported(user_id, conversation_id, MOST_DRAFTS_TOLD),
            read_under_way(services, user_id),
        ),
        pause.check(services.signals, user_id),
    )
    return ContextData(
        profile, settings.zone, memories, by_words, last_withdrawn, level, *told, rollout, settings.variant
    )


async def _read_memories(
    memories: Memories, clock: Clock, user_id: str, request: TurnRequest
) -> tuple[list[Memory], list[FoundMemory] | None]:
    salient = memories.most_salient(user_id, MOST_SALIENT + 1)
    if not request.likely_new or not request.text:
        return await salient, None
    return await asyncio.gather(salient, best_by_words(memories, clock, user_id, request.text))
