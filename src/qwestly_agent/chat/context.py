"""The first-turn context: the user's profile, work, wishes and most salient memories, and today's date, stored on the
conversation byte for byte.

It is part of the instructions, before all messages, so any change of it invalidates the provider's prompt cache and
makes the prompt fifty times as expensive. It is therefore made once, and again only if it is wrong or a day old.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict
from pydantic_ai.framing import wrap

from qwestly_agent.domain.approval import Level
from qwestly_agent.domain.memory import Memory
from qwestly_agent.memory.view import sureness_and_origin
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.prompt_tags import MEMORIES, PROFILE

OLDEST_SECONDS = 86_400
SETTLED_SECONDS = 10.0
"""Time after a memory was withdrawn, by which no new context can contain it."""
LONGEST_FIELD_CHARACTERS = 2_000
MOST_STINTS = 6
"""Of employment, without what was done there: `get_user_profile` has all of it."""


MAY: Mapping[Level, str] = {
    "L0": "You may look things up and suggest. You change nothing, and are offered nothing that could.",
    "L1": "You may look things up and draft. Whatever changes data or is seen by others waits for the user's yes.",
    "L2": "You may look things up and draft. Whatever changes data or is seen by others goes to the user's queue.",
    "L3": "You may look things up and draft. A change of the profile that the user plainly asks for in a message, "
    "and can undo, is done at once; all else, and whatever others see, waits for their yes.",
}
"""Tells the model its autonomy level. Only the gate enforces it."""


class FirstTurnContext(BaseModel):
    model_config = ConfigDict(frozen=True)

    profile: str
    memories: str
    level: Level
    today: str
    """The date where the user is, and their time zone."""
    prompt_version: str
    made_at: float
    """Seconds since the epoch."""
    memory_ids: tuple[str, ...]
    """Ids of the memories in it."""

    @property
    def text(self) -> str:
        return f"{self.profile}\n\n{self.memories}\n\n{MAY[self.level]}\n\nToday is {self.today}."

    def still_holds(self, fresh: "FirstTurnContext", last_withdrawn: float | None) -> bool:
        """True if this context can still be used instead of `fresh`, one made now.

        Memories added or reinforced since can wait until tomorrow; a withdrawn memory cannot.
        """
        return (
            self.prompt_version == fresh.prompt_version
            and self.level == fresh.level
            and self.today == fresh.today
            and self.profile == fresh.profile
            and fresh.made_at - self.made_at < OLDEST_SECONDS
            # A context made while a memory was being withdrawn may contain it, and clocks differ.
            and (last_withdrawn is None or last_withdrawn < self.made_at - SETTLED_SECONDS)
        )


def make_context(
    profile: Mapping[str, Any], memories: Sequence[Memory], level: Level, today: str, prompt_version: str, now: float
) -> FirstTurnContext:
    """`profile` is the career; `memories` are the most salient, best first."""
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
    """The date at a time (seconds since the epoch) in a zone: "Monday, 23 November 2026 (Europe/Lisbon)"."""
    day = datetime.fromtimestamp(now, ZoneInfo(zone))
    return f"{day:%A}, {day.day} {day:%B %Y} ({zone})"


def _stints(employment: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The latest, each without its description; how many more there are."""
    shown = [{name: value for name, value in each.items() if name != "description"} for each in employment]
    more = len(shown) - MOST_STINTS
    return [*shown[:MOST_STINTS], *([f"{more} earlier"] if more > 0 else [])]


def _line(memory: Memory) -> str:
    known = ", ".join(filter(None, (memory.type, _since(memory), sureness_and_origin(memory))))
    return f"- {memory.content[:LONGEST_FIELD_CHARACTERS]} ({known})"


def _since(memory: Memory) -> str:
    if memory.valid_from:
        return f"since {memory.valid_from:%Y-%m-%d}"
    return f"told on {memory.created_at:%Y-%m-%d}" if memory.created_at else ""


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(item)}" for key, item in value.items())
    if isinstance(value, list):
        return "; ".join(_plain(item) for item in value)
    return str(value)
