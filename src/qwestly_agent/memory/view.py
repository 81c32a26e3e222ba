"""Memories in the format of the API and of the model's prompts."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, StringConstraints

from qwestly_agent.base.clock import Moment, to_datetime
from qwestly_agent.domain.memory import FoundMemory, Memory, MemorySource, MemoryStatus, Score
from qwestly_agent.memory.find import FoundBy
from qwestly_agent.memory.notes import LONGEST_CONTENT_CHARACTERS, LONGEST_QUOTE_CHARACTERS

if TYPE_CHECKING:
    from qwestly_agent.memory.changes import Provenance
    from qwestly_agent.memory.forget import Forgotten

ConfidenceLabel: TypeAlias = Literal["sure", "fairly sure", "unsure"]

Sentence = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_CONTENT_CHARACTERS, strip_whitespace=True)]
"""A statement to be remembered."""
Quoted = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_QUOTE_CHARACTERS)]
"""The user's words, verbatim."""

SURE_FROM = 0.7
"""Minimum confidence for "sure". Confidence is the extractor's own estimate, so it can only lower the label."""
FORGOTTEN = "This is forgotten for good, with what it replaced."

_FROM = {
    "user_document": "from their document",
    "tool": "from a look-up",
    "external": "from elsewhere",
    "inferred": "inferred, not said",
}


def confidence_label(memory: Memory) -> ConfidenceLabel:
    """Return the label that users and models see instead of the number."""
    match memory.trust:
        case "user_said":
            return "sure" if memory.confidence >= SURE_FROM else "fairly sure"
        case "user_document":
            return "fairly sure"
        case _:
            return "unsure"


def confidence_and_origin(memory: Memory) -> str:
    """Return the confidence label, with the origin unless the memory is in the user's own words."""
    origin = _FROM.get(memory.trust)
    return f"{confidence_label(memory)}: {origin}" if origin else confidence_label(memory)


# --- the API ----------------------------------------------------------------------------------------------------------


class MemoryView(BaseModel):
    id: str
    type: str
    """fact, preference, goal, decision, skill, experience or constraint"""
    content: str
    trust: str
    """Its origin: user_said, user_document, tool, external or inferred."""
    sure: ConfidenceLabel
    quote: str
    """The user's own words, verbatim."""
    question: str
    """The question that these words answered, or the line that they adopted, if they are unclear without it."""
    source: MemorySource
    said_at: datetime | None
    since: datetime | None
    """Since when it is true, if known."""
    count: int
    """Number of messages in which it was said."""
    last_seen: Moment | None
    status: MemoryStatus
    """active · proposed: waits for approval · unchecked: not judged yet · superseded: replaced by another · merged:
    another one says the same. Only active memories are used."""
    superseded_by: str | None
    superseded_at: Moment | None
    sensitive: bool
    about_writing: bool
    """True if it says how texts about the user should be written."""
    undo_until: Moment | None
    """Until when storing or correcting it can be undone; null if it cannot."""
    score: Score | None = None
    """The score in a search."""


class MemoryList(BaseModel):
    items: list[MemoryView]
    next: str | None
    """Cursor: pass it as `after`; null at the end."""
    found_by: FoundBy | None = None
    """How a search found them: `words` if vectors could not be compared; `salience` if, in addition, no memory contains
    one of the words, and these are the most salient ones. Null without a search."""


class MemoryDetail(MemoryView):
    said_on: date | None
    """The day on which the quote was written."""
    conversation: str
    """Title of the conversation in which the user said it; empty if the conversation was deleted."""
    before: list[MemoryView]
    """The memories that this one replaced."""
    replaced_by: MemoryView | None


class Correction(BaseModel):
    """The new content, as a sentence."""

    model_config = ConfigDict(extra="forbid")

    content: Sentence


class UndoneView(BaseModel):
    undone: str
    """Id of the memory that was removed."""
    restored: list[MemoryView]
    """The memories that it had replaced, active again."""


class PublishedView(BaseModel):
    title: str
    at: datetime


class ForgottenView(BaseModel):
    forgotten: list[str]
    """Ids, including memories merged into it or replaced by it."""
    published: list[PublishedView]
    """Published items that are based on it; they are not undone."""
    note: str
    """Sentences for the user about what stays: published items and transcripts."""


def memory_view(memory: Memory, score: Score | None = None) -> MemoryView:
    return MemoryView(**_view_fields(memory), score=score)


def memory_detail(provenance: "Provenance", replaced_by: Memory | None) -> MemoryDetail:
    return MemoryDetail(
        **_view_fields(provenance.memory),
        said_on=provenance.said_on,
        conversation=provenance.title,
        before=[memory_view(each) for each in provenance.before],
        replaced_by=memory_view(replaced_by) if replaced_by else None,
    )


def forgotten_view(forgotten: "Forgotten") -> ForgottenView:
    published = [PublishedView(title=each.title, at=to_datetime(each.at)) for each in forgotten.published]
    return ForgottenView(forgotten=list(forgotten.ids), published=published, note=f"{FORGOTTEN} {forgotten.note}")


def memory_list(
    found: Sequence[Memory | FoundMemory], limit: int, offset: int, found_by: FoundBy | None = None
) -> MemoryList:
    """Return a page of memories. `found` was read with `limit` + 1, to detect whether there are more."""
    pairs = ((each.memory, each.score) if isinstance(each, FoundMemory) else (each, None) for each in found[:limit])
    items = [memory_view(*each) for each in pairs]
    return MemoryList(items=items, next=str(offset + limit) if len(found) > limit else None, found_by=found_by)


def _view_fields(memory: Memory) -> dict[str, Any]:
    return {
        **memory.model_dump(include=MemoryView.model_fields.keys() - {"last_seen", "superseded_at", "undo_until"}),
        "sure": confidence_label(memory),
        "said_at": memory.created_at,
        "since": memory.valid_from,
        "last_seen": memory.last_seen or None,
        "superseded_at": memory.superseded_at,
        "undo_until": memory.undo_until or None,
    }
