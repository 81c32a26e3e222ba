"""The prompt of a turn: the first-turn context, the conversation's window, and pending and running work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_ai.framing import wrap
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)

from qwestly_agent.approvals.end import outcome_line, running_line
from qwestly_agent.base.clock import format_date, format_day
from qwestly_agent.domain.approval import Approval, Level
from qwestly_agent.domain.conversation import Summary
from qwestly_agent.domain.memory import Memory
from qwestly_agent.memory.view import confidence_and_origin
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.stores.messages import Message
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.prompt_tags import EARLIER, MEMORIES, PROFILE

# --- the first-turn context -------------------------------------------------------------------------------------------
# The profile, work, wishes and most salient memories, and today's date, stored on the conversation byte for byte. The
# context is part of the instructions, before all messages, so any change to it invalidates the provider's prompt cache
# and makes the prompt fifty times as expensive. It is therefore made once, and made again only if it is wrong or a day
# old.

OLDEST_SECONDS = 86_400
SETTLED_SECONDS = 10.0
"""Seconds after which no new context can contain a withdrawn memory."""
LONGEST_FIELD_CHARACTERS = 2_000
MOST_STINTS = 6
"""Maximum number of positions, without descriptions; `get_user_profile` returns all of them."""


MAY: Mapping[Level, str] = {
    "L0": "You may look things up and suggest. You change nothing, and are offered nothing that could.",
    "L1": "You may look things up and draft. Whatever changes data or is seen by others waits for the user's yes.",
    "L2": "You may look things up and draft. Whatever changes data or is seen by others goes to the user's queue.",
    "L3": "You may look things up and draft. A change of the profile that the user plainly asks for in a message, "
    "and can undo, is done at once; all else, and whatever others see, waits for their yes.",
}
"""Tells the model its autonomy level; only the gate enforces it."""


class FirstTurnContext(BaseModel):
    model_config = ConfigDict(frozen=True)

    profile: str
    memories: str
    level: Level
    today: str
    """The date in the user's time zone, and the zone."""
    prompt_version: str
    made_at: float
    """Seconds since the epoch."""
    memory_ids: tuple[str, ...]
    """Ids of the memories in it."""

    @property
    def text(self) -> str:
        return f"{self.profile}\n\n{self.memories}\n\n{MAY[self.level]}\n\nToday is {self.today}."

    def is_still_valid(self, fresh: "FirstTurnContext", last_withdrawn: float | None) -> bool:
        """True if this context can still be used instead of `fresh`, one made now.

        Memories added or reinforced since can wait until tomorrow; a withdrawn memory cannot.
        """
        return (
            self.prompt_version == fresh.prompt_version
            and self.level == fresh.level
            and self.today == fresh.today
            and self.profile == fresh.profile
            and fresh.made_at - self.made_at < OLDEST_SECONDS
            # A context made while a memory was being withdrawn may contain that memory, and clocks differ.
            and (last_withdrawn is None or last_withdrawn < self.made_at - SETTLED_SECONDS)
        )


def make_context(
    profile: Mapping[str, Any], memories: Sequence[Memory], level: Level, today: str, prompt_version: str, now: float
) -> FirstTurnContext:
    """Return the context. `profile` is the career; `memories` are the most salient, best first."""
    known = {**profile, **({"employment": _stints(profile["employment"])} if "employment" in profile else {})}
    fields = [f"{name}: {_plain(value)[:LONGEST_FIELD_CHARACTERS]}" for name, value in known.items()]
    about = "\n".join(fields) or "No profile yet."
    remembered = "\n".join(_line(memory) for memory in memories) or "Nothing is remembered yet."
    return FirstTurnContext(
        profile=wrap(PROFILE, quoted(about)),
        memories=wrap(MEMORIES, quoted(remembered)),
        level=level,
        today=today,
        prompt_version=prompt_version,
        made_at=now,
        memory_ids=tuple(memory.id for memory in memories),
    )


def day_in(zone: str, now: float) -> str:
    """Return the local date of a Unix timestamp, such as "Monday, November 23, 2026 (Europe/Lisbon)"."""
    return f"{format_day(now, zone)} ({zone})"


def _stints(employment: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the latest positions without descriptions, and the number of earlier ones."""
    shown = [{name: value for name, value in each.items() if name != "description"} for each in employment]
    more = len(shown) - MOST_STINTS
    return [*shown[:MOST_STINTS], *([f"{more} earlier"] if more > 0 else [])]


def _line(memory: Memory) -> str:
    known = ", ".join(filter(None, (memory.type, _since(memory), confidence_and_origin(memory))))
    return f"- {memory.content[:LONGEST_FIELD_CHARACTERS]} ({known})"


def _since(memory: Memory) -> str:
    if memory.valid_from:
        return f"since {format_date(memory.valid_from)}"
    return f"told on {format_date(memory.created_at)}" if memory.created_at else ""


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(item)}" for key, item in value.items())
    if isinstance(value, list):
        return "; ".join(_plain(item) for item in value)
    return str(value)


# --- the window -------------------------------------------------------------------------------------------------------
# The part of a conversation that the model sees. It grows from 15 messages to 45 and is then cut back in one step. A
# window that dropped the oldest message on every turn would change the beginning of the prompt every time, and defeat
# the provider's prompt cache.


SMALLEST = 15
LARGEST = 45
READ_LIMIT = LARGEST + 5
"""Number of messages to read: the largest window, plus what one turn adds."""
EARLIER_NOTE = "What was said before, summed up. What stands in quotation marks is word for word; search for the rest."
NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""The model sees no message times; a constant keeps a prompt's bytes stable."""


def window_start(messages: Sequence[Message], current: int) -> int:
    """Return the `seq` at which the window begins; `current` is where it began before.

    The window has at least the last 15 messages, and begins with a user message.
    """
    visible = [message for message in messages if message.seq >= current]
    if len(visible) <= LARGEST:
        return current
    start = next(i for i in range(len(visible) - SMALLEST, -1, -1) if visible[i].role == "user" or i == 0)
    return visible[start].seq


def _summary_message(summary: Summary) -> ModelRequest:
    lines = ((each.who, each.text or f"“{each.quote}”") for each in summary.lines)
    text = "\n".join(f"- {'The user' if who == 'user' else 'You'}: {quoted(said)}" for who, said in lines)
    prompt = UserPromptPart(f"{EARLIER_NOTE}\n\n{wrap(EARLIER, text)}", timestamp=NO_TIME)
    return ModelRequest(parts=[prompt], timestamp=NO_TIME)


def prompt_of(note: str, said: str) -> str:
    """Return a user's message as the model sees it: the note on approvals, then the text."""
    return "\n\n".join(filter(None, (note, quoted(said))))


def as_model_saw(answer: Message) -> list[ModelMessage]:
    """Return an answer's requests and responses, or only its text if the stored ones cannot be parsed."""
    try:
        return ModelMessagesTypeAdapter.validate_json(answer.model_messages)
    except ValidationError:
        return [text_response(answer.content)]


def text_response(words: str) -> ModelResponse:
    """Return an answer that consists only of text."""
    return ModelResponse(parts=[TextPart(words)])


def model_history(messages: Sequence[Message], start: int, summary: Summary | None) -> list[ModelMessage]:
    """Return the summary of the messages before the window, and the window exactly as the model saw it before, so that
    each prompt begins with the bytes of the previous one."""
    history: list[ModelMessage] = [_summary_message(summary)] if summary and summary.lines else []
    for message in messages:
        if message.seq < start or message.withheld:
            continue
        if message.role == "user":
            prompt = UserPromptPart(prompt_of(message.note, message.content), timestamp=message.created_at)
            history.append(ModelRequest(parts=[prompt], timestamp=message.created_at))
        else:
            history.extend(as_model_saw(message))
    return history


# --- pending and running work -----------------------------------------------------------------------------------------
# Pending approvals and running drafts in all conversations: a prompt lists them if they changed.


MOST_READ, MOST_NAMED = 30, 10
NOTHING = "Nothing waits for the user's decision any more, and nothing is being drafted."
MORE = "There is more: get_my_work lists it."


@dataclass(frozen=True)
class UnderWay:
    """Pending approvals and running drafts, newest first."""

    approvals: Sequence[Approval] = ()
    drafts: Sequence[Draft] = ()

    def elsewhere(self, conversation_id: str) -> tuple[str, ...]:
        """Return the sorted ids of the items that were not created by a tool call of this conversation."""
        # A workflow requests its approval outside of its conversation.
        asked = [each for each in self.approvals if each.task_token or each.conversation_id != conversation_id]
        begun = [each for each in self.drafts if each.conversation_id != conversation_id]
        return tuple(sorted(each.id for each in (*asked, *begun)))

    @property
    def lines(self) -> list[str]:
        lines = [*map(outcome_line, self.approvals), *map(running_line, self.drafts)]
        return [*lines[:MOST_NAMED], *([MORE] if len(lines) > MOST_NAMED else [])] or [NOTHING]
