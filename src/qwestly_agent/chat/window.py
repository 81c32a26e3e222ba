"""The window: the part of a conversation that the model sees.

It grows from 15 messages to 45 and is then cut back at once. A window that drops the oldest message on every turn would
change the prompt's beginning every time, and so defeat the provider's prompt cache.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from pydantic import ValidationError
from pydantic_ai.framing import wrap
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, UserPromptPart

from qwestly_agent.chat.turn_record import text_response
from qwestly_agent.domain.summary import Summary
from qwestly_agent.stores.message import Message
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.prompt_tags import EARLIER

SMALLEST = 15
LARGEST = 45
READ_LIMIT = LARGEST + 5
"""Messages to read: the largest window, and what one turn adds."""
EARLIER_NOTE = "What was said before, summed up. What stands in quotation marks is word for word; search for the rest."
NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""A model is told no times of messages; the same one each time keeps a prompt's bytes."""


def window_start(messages: Sequence[Message], current: int) -> int:
    """The `seq` at which the window begins; `current` is where it began before.

    It has at least the last 15 messages, and begins with a user message.
    """
    visible = [message for message in messages if message.seq >= current]
    if len(visible) <= LARGEST:
        return current
    start = next(i for i in range(len(visible) - SMALLEST, -1, -1) if visible[i].role == "user" or i == 0)
    return visible[start].seq


def _told(summary: Summary) -> ModelRequest:
    lines = ((each.who, each.text or f"“{each.quote}”") for each in summary.lines)
    text = "\n".join(f"- {'The user' if who == 'user' else 'You'}: {quoted(said)}" for who, said in lines)
    prompt = UserPromptPart(f"{EARLIER_NOTE}\n\n{wrap(EARLIER, text)}", timestamp=NO_TIME)
    return ModelRequest(parts=[prompt], timestamp=NO_TIME)


def prompt_of(note: str, said: str) -> str:
    """A user's message as the model sees it: the note on approvals, then the text."""
    return "\n\n".join(filter(None, (note, quoted(said))))


def as_model_saw(answer: Message) -> list[ModelMessage]:
    """An answer's requests and responses; only its text if the stored ones cannot be parsed."""
    try:
        return ModelMessagesTypeAdapter.validate_json(answer.model_messages)
    except ValidationError:
        return [text_response(answer.content)]


def model_history(messages: Sequence[Message], start: int, summary: Summary | None) -> list[ModelMessage]:
    """The summary of what stands before the window, and the window exactly as the model saw it before, so that a prompt
    begins with the bytes of the previous one."""
    history: list[ModelMessage] = [_told(summary)] if summary and summary.lines else []
    for message in messages:
        if message.seq < start or message.withheld:
            continue
        if message.role == "user":
            prompt = UserPromptPart(prompt_of(message.note, message.content), timestamp=message.created_at)
            history.append(ModelRequest(parts=[prompt], timestamp=message.created_at))
        else:
            history.extend(as_model_saw(message))
    return history
