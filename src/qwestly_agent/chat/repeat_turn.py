"""Answer a message that was answered already, or with fixed words."""

import asyncio
from collections.abc import AsyncIterator

from pydantic_ai.messages import PartEndEvent, PartStartEvent, TextPart

from qwestly_agent.agents.design import NativeEvent
from qwestly_agent.chat.turn import Turn
from qwestly_agent.chat.used_sources import naming
from qwestly_agent.services import Services
from qwestly_agent.stores.message import Message


async def repeat(services: Services, turn: Turn, answered: Message) -> AsyncIterator[NativeEvent]:
    """Answer with the same words and sources."""
    now = services.clock()
    await asyncio.gather(
        services.conversations.finish(turn.claim, [], replaced_run=None, changes={}, now=now),
        services.usage.settle(turn.claim.user_id, turn.run_id, {}, turn.load, now),
    )
    turn.record.texts.append(answered.content)
    for event in (*words_of_ours(answered.content), *naming(answered.steps)):
        yield event


def words_of_ours(text: str) -> tuple[NativeEvent, NativeEvent]:
    """A part of the answer."""
    part = TextPart(text)
    return PartStartEvent(index=0, part=part), PartEndEvent(index=0, part=part)
