"""Memories as the API shows them, and as the model is told of them."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, StringConstraints

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.memory import Found, Memory, MemoryStatus, Score, Source
from qwestly_agent.memory.find import FoundBy
from qwestly_agent.memory.notes import LONGEST_CONTENT_CHARACTERS, LONGEST_QUOTE_CHARACTERS

if TYPE_CHECKING:
    from qwestly_agent.approvals.forget import Forgotten
    from qwestly_agent.memory.service import Explanation

Sureness: TypeAlias = Literal["sure", "fairly sure", "unsure"]

Sentence = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_CONTENT_CHARACTERS, strip_whitespace=True)]
"""Something to remember."""
Quoted = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_QUOTE_CHARACTERS)]
"""Words of the user, verbatim."""

SURE_FROM = 0.7
"""Confidence. It is the extractor's own guess, and so it only ever takes away."""
FORGOTTEN = "This is forgotten for good, with what it replaced."

_FROM = {
    "user_document": "from their document",
    "tool": "from a look-up",
    "external": "from elsewhere",
    "inferred": "inferred, not said",
}


def sureness(memory: Memory) -> Sureness:
    """What a person or a model is told in place of numbers."""
    match memory.trust:
        case "user_said":
            return "sure" if memory.confidence >= SURE_FROM else "fairly sure"
        case "user_document":
            return "fairly sure"
        case _:
            return "unsure"


def sureness_and_origin(memory: Memory) -> str:
    """With where it comes from, where that is not the user's own word."""
    origin = _FROM.get(memory.trust)
    return f"{sureness(memory)}: {origin}" if origin else sureness(memory)


# --- the API's --------------------------------------------------------------------------------------------------------


class MemoryView(BaseModel):
    id: str
    type: str
    """fact, preference, goal, decision, skill, experience or constraint"""
    content: str
    trust: str
    """Where it comes from: user_said, user_document, tool, external or inferred."""
    sure: Sureness
    quote: str
    """The user's own words that it rests on."""
    question: str
    """What these words answered, where they do not say it by themselves."""
    source: Source
    said_at: datetime | None
    since: datetime | None
    """Since when it holds, where that is known."""
    count: int
    """In how many messages it was said."""
    last_seen: datetime | None
    status: MemoryStatus
    """Holds · waits for the user's yes · not checked yet · another one holds instead · another one says it. Only an
    active memory is used."""
    superseded_by: str | None
    superseded_at: datetime | None
    sensitive: bool
    undo_until: datetime | None
    """So long it can be undone that it was remembered or corrected; null where it cannot."""
    score: Score | None = None
    """Why a search found it."""


class MemoryList(BaseModel):
    items: list[MemoryView]
    next: str | None
    """Pass it as `after` for what follows; null at the end."""
    found_by: FoundBy | None = None
    """Of a search: `words` where meaning could not be compared, `salience` where besides no memory has one of the
    words, and these are the most salient ones. Null where nothing was searched for."""


class MemoryDetail(MemoryView):
    said_on: date | None
    """When these words were written."""
    conversation: str
    """The title of the conversation in which it was said; empty where there is none any more."""
    before: list[MemoryView]
    """What it took the place of."""
    replaced_by: MemoryView | None


class Correction(BaseModel):
    """What holds instead, as a sentence."""

    model_config = ConfigDict(extra="forbid")

    content: Sentence


class UndoneView(BaseModel):
    undone: str
    """The memory that is not remembered any more."""
    restored: list[MemoryView]
    """What it had replaced, and what holds again."""


class PublishedView(BaseModel):
    title: str
    at: datetime


class ForgottenView(BaseModel):
    forgotten: list[str]
    """Ids: with what was merged into it, or replaced by it."""
    published: list[PublishedView]
    """What rested on it and was carried out before: it is not undone."""
    note: str
    """That, and what stays in the transcripts."""


def view_of(memory: Memory, score: Score | None = None) -> MemoryView:
    return MemoryView(**_shown(memory), score=score)


def detail_of(explanation: "Explanation", replaced_by: Memory | None) -> MemoryDetail:
    return MemoryDetail(
        **_shown(explanation.memory),
        said_on=explanation.said_on,
        conversation=explanation.title,
        before=[view_of(each) for each in explanation.before],
        replaced_by=view_of(replaced_by) if replaced_by else None,
    )


def forgotten_view_of(forgotten: "Forgotten") -> ForgottenView:
    published = [PublishedView(title=each.title, at=each.at) for each in forgotten.published]
    return ForgottenView(forgotten=list(forgotten.ids), published=published, note=f"{FORGOTTEN} {forgotten.note}")


def list_of(found: Sequence[Memory | Found], limit: int, offset: int, found_by: FoundBy | None = None) -> MemoryList:
    """Of memories read with one more than `limit`, which tells whether there are more."""
    items = [view_of(each.memory, each.score) if isinstance(each, Found) else view_of(each) for each in found[:limit]]
    return MemoryList(items=items, next=str(offset + limit) if len(found) > limit else None, found_by=found_by)


def _shown(memory: Memory) -> dict[str, Any]:
    return {
        **memory.model_dump(include=MemoryView.model_fields.keys() - {"last_seen", "superseded_at", "undo_until"}),
        "sure": sureness(memory),
        "said_at": memory.created_at,
        "since": memory.valid_from,
        "last_seen": to_datetime(memory.last_seen) if memory.last_seen else None,
        "superseded_at": to_datetime(memory.superseded_at) if memory.superseded_at else None,
        "undo_until": to_datetime(memory.undo_until) if memory.undo_until else None,
    }
