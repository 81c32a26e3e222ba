"""An answer for the encoders: for the reader who asked for it, or for a later one."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from qwestly_agent.agents.design import NativeEvent
from qwestly_agent.chat.run_turn import run_turn
from qwestly_agent.chat.services import ChatServices
from qwestly_agent.chat.turn import Turn
from qwestly_agent.chat.turn_record import step_of
from qwestly_agent.stores.message import Step


@dataclass(frozen=True)
class Telling:
    conversation_id: str
    run_id: str
    message_id: str
    """The id under which the client builds the answer."""
    events: AsyncIterator[NativeEvent]
    """They raise an `AgentError` if the turn failed, and `RunCancelled` if its user stopped it."""
    step_of: Callable[[str], Step]
    """Steps by the id of their call, once the call was sent."""
    content: Callable[[], str]
    """The whole answer, once the events have ended."""
    usage: Callable[[], dict[str, Any]]
    """As `content`."""


def telling_of(services: ChatServices, turn: Turn) -> Telling:
    """Its events run the turn."""
    record = turn.record
    return Telling(
        conversation_id=turn.claim.conversation_id,
        run_id=turn.answer_run_id,
        message_id=turn.continues or turn.answer_id,
        events=run_turn(services, turn),
        step_of=lambda call_id: step_of(record.calls.made[call_id]),
        content=lambda: record.content,
        usage=record.usage,
    )
