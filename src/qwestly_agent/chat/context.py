"""The first-turn context: who the user is and what matters to them, kept on the conversation byte for byte.

It stands in the instructions, before everything that was said, so any change of it makes the provider read the whole
prompt anew at fifty times the price. It is therefore made once, and again only where it would be wrong or a day old.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic_ai.framing import wrap

from qwestly_agent.domain.approval import Level
from qwestly_agent.domain.memory import Memory
from qwestly_agent.memory.view import sureness_and_origin
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.prompt_tags import MEMORIES, PROFILE

OLDEST_SECONDS = 86_400
SETTLED_SECONDS = 10.0
"""After something was withdrawn; by then whoever makes a context does not read it any more."""
LONGEST_FIELD_CHARACTERS = 2_000


MAY: Mapping[Level, str] = {
    "L0": "You may look things up and suggest. You change nothing, and are offered nothing that could.",
    "L1": "You may look things up and draft. Whatever changes data or is seen by others waits for the user's yes.",
    "L2": "You may look things up and draft. Whatever changes data or is seen by others goes to the user's queue.",
    "L3": "You may look things up, draft and change the user's data. What others see waits for the user's yes.",
}
"""What the model is told of its level. It decides nothing: the gate does."""


class Context(BaseModel):
    model_config = ConfigDict(frozen=True)

    profile: str
    memories: str
    level: Level
    prompt_version: str
    made_at: float
    """Seconds since the epoch."""
    memory_ids: tuple[str, ...]
    """Of the memories in it."""

    @property
    def text(self) -> str:
        return f"{self.profile}\n\n{self.memories}\n\n{MAY[self.level]}"

    def still_holds(self, fresh: "Context", last_withdrawn: float | None) -> bool:
        """Whether this one can go on, given what a context made now would say.

        Memories that were added or strengthened since can wait until tomorrow; one that was withdrawn cannot.
        """
        return (
            self.prompt_version == fresh.prompt_version
            and self.level == fresh.level
            and self.profile == fresh.profile
            and fresh.made_at - self.made_at < OLDEST_SECONDS
            # One that was read while something was withdrawn may hold it, and clocks differ.
            and (last_withdrawn is None or last_withdrawn < self.made_at - SETTLED_SECONDS)
        )


def make_context(
    profile: dict[str, Any], memories: Sequence[Memory], level: Level, prompt_version: str, now: float
) -> Context:
    """From the profile's summary and the most salient memories, best first."""
    fields = [f"{name}: {_plain(value)[:LONGEST_FIELD_CHARACTERS]}" for name, value in profile.items()]
    about = "\n".join(fields) or "No profile yet."
    remembered = "\n".join(_line(memory) for memory in memories) or "Nothing is remembered yet."
    return Context(
        profile=wrap(PROFILE, quoted(about)),
        memories=wrap(MEMORIES, quoted(remembered)),
        level=level,
        prompt_version=prompt_version,
        made_at=now,
        memory_ids=tuple(memory.id for memory in memories),
    )


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
