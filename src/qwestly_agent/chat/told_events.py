"""The events of an answer, for its reader and, as far as they were sent, for another one."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.messages import (
    AgentStreamEvent,
    CapabilityEvent,
    CustomEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
)
from pydantic_core import PydanticSerializationError

from qwestly_agent.agents.design import NativeEvent
from qwestly_agent.chat.activity_view import EventView
from qwestly_agent.chat.draft_view import DraftView
from qwestly_agent.chat.used_sources import SourcesNamed
from qwestly_agent.stores.message import Step

MOST_OF_A_TOOL = 8_000
"""Characters of a call's arguments, or of its result, that are repeated."""
MOST_CHARACTERS = 60_000
"""Characters of all events; of later ones only the text and its sources are repeated."""


@dataclass(kw_only=True)
class DraftEnded(CapabilityEvent, namespace="qwestly"):
    draft: DraftView


@dataclass(kw_only=True)
class Happened(CapabilityEvent, namespace="qwestly"):
    activity: EventView


@dataclass(frozen=True)
class Telling:
    """An answer for the encoders: for the reader who asked for it, or for a later one."""

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


@cache
def _event() -> TypeAdapter[AgentStreamEvent]:
    """Made at its first use, with the kinds of events that are defined by then."""
    return TypeAdapter(AgentStreamEvent)


@dataclass
class Told:
    """The events so far as JSON. Deltas that follow each other are one event; thoughts are left out."""

    _events: list[str] = field(default_factory=list)
    _last: AgentStreamEvent | None = None
    """Not yet in `_events`, because the next delta may belong to it."""
    _size: int = 0
    """Characters of `_events`."""
    _taken: int = 0
    _dumped: int = 0

    @property
    def grew(self) -> bool:
        """True if there is more than at the last `dump`."""
        return self._taken > self._dumped

    def take(self, event: NativeEvent) -> None:
        told = _shown(event)
        if told is None or (self._size > MOST_CHARACTERS and not _is_answer(told)):
            return
        self._taken += 1
        if joined := _joined(self._last, told):
            self._last = joined
        else:
            closed = _dumped(self._last)
            self._events += closed
            self._size += sum(map(len, closed))
            self._last = told

    def dump(self) -> list[str]:
        self._dumped = self._taken
        return [*self._events, *_dumped(self._last)]


def new_events(before: Sequence[str], now: Sequence[str]) -> Iterator[AgentStreamEvent]:
    """Return the events for a reader who has got `before`; `now` begins with these."""
    if before and now[len(before) - 1] != before[-1]:
        told, grown = (_event().validate_json(each[len(before) - 1]) for each in (before, now))
        yield _rest(told, grown)
    for each in now[len(before) :]:
        yield _event().validate_json(each)


def _shown(event: NativeEvent) -> AgentStreamEvent | None:
    match event:
        case PartEndEvent(part=TextPart() as part):
            return replace(event, part=replace(part, content=""))  # sent already
        case PartEndEvent(part=ToolCallPart() as part):
            return replace(event, part=replace(part, args=None))  # sent with its call
        case PartStartEvent(part=ToolCallPart() as call) | FunctionToolCallEvent(part=call):
            return replace(event, part=_short_call(call))
        case FunctionToolResultEvent(part=result):
            return replace(event, part=_short_result(result))
        case (
            PartStartEvent(part=TextPart())
            | PartDeltaEvent(delta=TextPartDelta() | ToolCallPartDelta())
            | CustomEvent()
            | CapabilityEvent()
        ):
            return event
        case _:
            return None


def _short_call(part: ToolCallPart) -> ToolCallPart:
    return replace(part, args=None) if len(part.args_as_json_str()) > MOST_OF_A_TOOL else part


def _short_result(part: ToolReturnPart) -> ToolReturnPart:
    words = part.model_response_str()
    return replace(part, content=f"{words[:MOST_OF_A_TOOL]}…") if len(words) > MOST_OF_A_TOOL else part


def _is_answer(event: AgentStreamEvent) -> bool:
    match event:
        case (
            PartStartEvent(part=TextPart())
            | PartEndEvent(part=TextPart())
            | PartDeltaEvent(delta=TextPartDelta())
            | SourcesNamed()
        ):
            return True
        case _:
            return False


def _joined(last: AgentStreamEvent | None, event: AgentStreamEvent) -> AgentStreamEvent | None:
    match last, event:
        case PartDeltaEvent(delta=TextPartDelta() as said), PartDeltaEvent(delta=TextPartDelta() as more) if (
            last.index == event.index
        ):
            return replace(last, delta=replace(said, content_delta=said.content_delta + more.content_delta))
        case (
            PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(said)) as delta),
            PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(more))),
        ) if last.index == event.index:
            return replace(last, delta=replace(delta, args_delta=(said + more)[:MOST_OF_A_TOOL]))
        case _:
            return None


def _rest(told: AgentStreamEvent, grown: AgentStreamEvent) -> AgentStreamEvent:
    """Return what a joined event has gained."""
    match told, grown:
        case PartDeltaEvent(delta=TextPartDelta(said)), PartDeltaEvent(delta=TextPartDelta(more) as delta):
            return replace(grown, delta=replace(delta, content_delta=more[len(said) :]))
        case (
            PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(said))),
            PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(more)) as delta),
        ):
            return replace(grown, delta=replace(delta, args_delta=more[len(said) :]))
        case _:
            return grown


def _dumped(event: AgentStreamEvent | None) -> list[str]:
    """Return an empty text if it is not JSON, such as a tool's result that is not data."""
    try:
        return [] if event is None else [_event().dump_json(event).decode()]
    except PydanticSerializationError:
        return []
