"""A memory, its trust, and the result of a search."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field

MemoryType: TypeAlias = Literal["fact", "preference", "goal", "decision", "skill", "experience", "constraint"]
Trust: TypeAlias = Literal["user_said", "user_document", "tool", "external", "inferred"]
"""Origins, most trusted first."""
MemoryStatus: TypeAlias = Literal["active", "proposed", "unchecked", "superseded", "merged"]
"""Valid · waits for the user's approval · waits for a judge · replaced by another · merged into another. Only active
memories are used in prompts and found by a search."""

_TRUSTS: tuple[Trust, ...] = get_args(Trust)


def rank(trust: str) -> int:
    """Return the rank of a trust, 0 for the most trusted. An unknown trust ranks last."""
    return _TRUSTS.index(trust) if trust in _TRUSTS else len(_TRUSTS)


def lowest(trusts: Iterable[str]) -> str:
    """Return the trust of a memory that combines several: the lowest of them."""
    return max(trusts, key=rank)


class MemorySource(BaseModel):
    """The conversation and messages in which the user stated a memory."""

    model_config = ConfigDict(frozen=True)

    conversation_id: str | None = None
    """None if it was stated outside conversations, as on the memories page."""
    message_ids: tuple[str, ...] = ()


class Memory(BaseModel):
    """A memory about a user. Numeric times are in seconds since the epoch."""

    model_config = ConfigDict(frozen=True)

    id: str
    type: str
    """A `MemoryType`, or one of a later version."""
    content: str
    importance: float = Field(default=0.5, ge=0.0, le=1.0)
    confidence: float = 1.0
    """The extracting model's own estimate, used only as a hint."""
    status: MemoryStatus = "active"
    trust: str = "user_said"
    """A `Trust`, or one of a later version."""
    quote: str = ""
    """The user's words that support the memory."""
    question: str = ""
    """The question that a short answer refers to; the memory is then inferred."""
    source: MemorySource = MemorySource()
    context: str = ""
    """While unchecked: text that a judge reads in addition to the quote."""
    tries: int = 0
    """While unchecked: how often no judge was available."""
    is_doubtful: bool = False
    """While unchecked: True if the user must approve it, because code cannot tell whether they typed it."""
    sensitive: bool = False
    about_writing: bool = False
    """True if it states how the user wants to be written about. It is a wish for texts, never evidence."""
    retells: tuple[str, ...] = ()
    """While proposed: tombstones of forgotten memories that this one may repeat."""
    undo_until: float = 0.0
    """Until when the user can undo it; 0 if it was not stored by a tool."""
    count: int = 1
    """Number of the user's messages that stated it."""
    last_seen: float = 0.0
    valid_from: datetime | None = None
    """Start of its validity, if known."""
    valid_until: datetime | None = None
    """End of its validity, if known."""
    created_at: datetime | None = None
    superseded_by: str | None = None
    """The memory that replaced it."""
    superseded_at: float | None = None


class Score(BaseModel):
    """How a search ranked it: `total` is the sum of 3 / (5 + rank) over both orders, so that the first in both has 1.
    Of memories with equal totals, the more salient comes first."""

    model_config = ConfigDict(frozen=True)

    words: int | None
    """Rank by words (BM25), from 1; null if it contains none of them."""
    meaning: int | None
    """Rank by meaning (cosine), from 1; null if it was not compared."""
    salience: float
    """Importance reduced by age: `importance·e^(−age/τ)`, between 0 and 1."""
    total: float


class FoundMemory(BaseModel):
    """A memory that a search found."""

    model_config = ConfigDict(frozen=True)

    memory: Memory
    score: Score
