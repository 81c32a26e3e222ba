"""Text as UTF-8 can carry it: a model may send half of a surrogate pair, which no stream, store or client can."""

from dataclasses import replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.ui import NativeEvent


def well_formed(text: str) -> str:
    """With U+FFFD in place of what is no character; halves that meet become the character that they are."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def well_formed_event(event: NativeEvent) -> NativeEvent:
    match event:
        case PartStartEvent(part=TextPart() | ThinkingPart() as part):
            return replace(event, part=replace(part, content=well_formed(part.content)))
        case PartEndEvent(part=TextPart() | ThinkingPart() as part):
            return replace(event, part=replace(part, content=well_formed(part.content)))
        case PartDeltaEvent(delta=TextPartDelta() | ThinkingPartDelta() as delta) if delta.content_delta:
            return replace(event, delta=replace(delta, content_delta=well_formed(delta.content_delta)))
        case _:
            return event


def well_formed_message(message: ModelMessage) -> ModelMessage:
    if not isinstance(message, ModelResponse):
        return message
    parts = [
        replace(part, content=well_formed(part.content)) if isinstance(part, TextPart | ThinkingPart) else part
        for part in message.parts
    ]
    return replace(message, parts=parts)
