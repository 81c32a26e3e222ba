"""Remove invisible characters, and links and images to hosts that are not allowed, from a run's events. The stored
messages are sanitized in the same way, so that a conversation is shown later as it was streamed."""

from collections.abc import AsyncIterator, Collection
from dataclasses import replace

from pydantic_ai.messages import (
    FunctionToolCallEvent,
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from qwestly_agent.agents.base import unique_call_id, valid_tool_name
from qwestly_agent.agents.design import NativeEvent
from qwestly_agent.text.clean import SafeText, safe_text, visible, visible_data, well_formed


async def sanitize_events(
    events: AsyncIterator[NativeEvent], hosts: Collection[str], made: Collection[str]
) -> AsyncIterator[NativeEvent]:
    """Sanitize a run's events. `made` contains the ids of the run's tool calls so far and grows while events arrive.

    Text that could become a link is held back until its part ends or the run breaks off.
    """
    held: dict[int, tuple[TextPart | ThinkingPart, SafeText]] = {}
    calling: dict[int, str] = {}
    """Ids of the calls in the current response, by part, as the run will number them."""
    try:
        async for event in events:
            match event:
                case PartStartEvent(index=index, part=TextPart() | ThinkingPart() as part):
                    safe = SafeText(hosts)
                    held[index] = part, safe
                    yield replace(event, part=replace(part, content=safe.feed(well_formed(part.content))))
                case PartDeltaEvent(index=index, delta=TextPartDelta() | ThinkingPartDelta() as delta) if index in held:
                    if text := held[index][1].feed(well_formed(delta.content_delta or "")):
                        yield replace(event, delta=replace(delta, content_delta=text))
                case PartEndEvent(index=index, part=TextPart() | ThinkingPart() as part):
                    if index in held and (rest := held.pop(index)[1].end()):
                        yield _rest(index, part, rest)
                    yield replace(event, part=replace(part, content=_safe(part.content, hosts)))
                case PartStartEvent(index=index, part=ToolCallPart() as part):
                    if index in calling or set(calling.values()) & set(made):
                        calling.clear()  # a new response starts
                    taken = {*made, *calling.values()}
                    calling[index] = unique_call_id(part.tool_call_id, taken, len(made) + len(calling) + 1)
                    yield replace(event, part=replace(_call(part), tool_call_id=calling[index]))
                case PartEndEvent(index=index, part=ToolCallPart() as part):
                    yield replace(event, part=replace(_call(part), tool_call_id=calling.get(index, part.tool_call_id)))
                case PartDeltaEvent(index=index, delta=ToolCallPartDelta() as delta):
                    yield replace(event, delta=_call_delta(delta, calling.get(index)))
                case FunctionToolCallEvent(part=part):
                    yield replace(event, part=_call(part))
                case _:
                    yield event
    except Exception:
        for index, (part, safe) in held.items():
            if rest := safe.end():
                yield _rest(index, part, rest)
        raise


def sanitize_message(message: ModelMessage, hosts: Collection[str]) -> ModelMessage:
    if not isinstance(message, ModelResponse):
        return message
    parts = [_part(part, hosts) for part in message.parts]
    # Drop failed attempts: otherwise the conversation would stay with the fallback model forever.
    return replace(message, parts=parts, failed_attempts=None)


def _part(part: ModelResponsePart, hosts: Collection[str]) -> ModelResponsePart:
    match part:
        case TextPart() | ThinkingPart():
            return replace(part, content=_safe(part.content, hosts))
        case ToolCallPart():
            return _call(part)
        case _:
            return part


def _call(part: ToolCallPart) -> ToolCallPart:
    return replace(
        part,
        tool_name=valid_tool_name(part.tool_name),
        tool_call_id=unique_call_id(part.tool_call_id),
        args=visible(well_formed(part.args)) if isinstance(part.args, str) else visible_data(part.args),
    )


def _call_delta(delta: ToolCallPartDelta, call_id: str | None) -> ToolCallPartDelta:
    written = delta.args_delta
    return replace(
        delta,
        tool_call_id=call_id,
        args_delta=visible(well_formed(written)) if isinstance(written, str) else visible_data(written),
    )


def _safe(text: str, hosts: Collection[str]) -> str:
    return safe_text(well_formed(text), hosts)


def _rest(index: int, part: TextPart | ThinkingPart, rest: str) -> PartDeltaEvent:
    delta = TextPartDelta(rest) if isinstance(part, TextPart) else ThinkingPartDelta(content_delta=rest)
    return PartDeltaEvent(index=index, delta=delta)
