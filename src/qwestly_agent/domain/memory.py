"""A memory, its trust, and the result of a search."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field

MemoryType: TypeAlias = Literal["fact", "preference", "goal", "decision", "skill", "experience", "constraint"]
Trust: TypeAlias = Literal["user_said", "user_document", "tool", "external", "inferred"]
"""Origins, the most trusted first."""
MemoryStatus: TypeAlias = Literal["active", "proposed", "unchecked", "superseded", "merged"]
"""Holds · waits for the user's yes · waits for a judge · replaced by another · merged into another. Only active ones
are in prompts or found by a search."""

_TRUSTS: tuple[Trust, ...] = get_args(Trust)


def rank(trust: str) -> int:
    """Return 0 for the most trusted; an unknown trust ranks lowest."""
    return _TRUSTS.index(trust) if trust in _TRUSTS else len(_TRUSTS)


def lowest(trusts: Iterable[str]) -> str:
    """Return the trust of a memory made of several: the lowest of theirs."""
    return max(trusts, key=rank)


class MemorySource(BaseModel):
    """The conversation and messages in which the user said it."""

    model_config = ConfigDict(frozen=True)

    conversation_id: str | None = None
    """None if it was said outside conversations, as on the page of memories."""
    message_ids: tuple[str, ...] = ()


class Memory(BaseModel):
    """Moments that are numbers are seconds since the epoch."""

    model_config = ConfigDict(frozen=True)

    id: str
    type: str
    """A `MemoryType`, or one of a later version."""
    content: str
    importance: float = Field(default=0.5, ge=0.0, le=1.0)
    confidence: float = 1.0
    """The extractor's own estimate, used as a hint only."""
    status: MemoryStatus = "active"
    trust: str = "user_said"
    """A `Trust`, or one of a later version."""
    quote: str = ""
    """The user's words that support it."""
    question: str = ""
    """The question to a short answer; the memory is then inferred."""
    source: MemorySource = MemorySource()
    context: str = ""
    """While unchecked: what a judge reads beside the quote."""
    tries: int = 0
    """While unchecked: how often no judge was available."""
    is_doubtful: bool = False
    """While unchecked: True if its user must approve it, as code cannot tell that they typed it."""
    sensitive: bool = False
    about_writing: bool = False
    """True if it says how its user wants to be written about: a wish for texts, and evidence of nothing."""
    retells: tuple[str, ...] = ()
    """While proposed: tombstones of forgotten memories that this one may repeat."""
    undo_until: float = 0.0
    """Until when the user can undo it; 0 if no tool remembered it."""
    count: int = 1
    """Number of the user's messages that said it."""
    last_seen: float = 0.0
    valid_from: datetime | None = None
    """Since when it holds, if known."""
    valid_until: datetime | None = None
    """Until when it holds, if known."""
    created_at: datetime | None = None
    superseded_by: str | None = None
    """The memory that replaced it."""
    superseded_at: float | None = None


class Score(BaseModel):
    """Why a search found it: `total` adds 3 / (5 + place) of both orders, so that the first in both has 1; among
    equals the more salient comes first."""

    model_config = ConfigDict(frozen=True)

    words: int | None
    """Its rank by words (BM25), from 1; null if it contains none of them."""
    meaning: int | None
    """Its rank by meaning (cosine), from 1; null if it was not compared."""
    salience: float
    """Importance, less with age: `importance·e^(−age/τ)`, between 0 and 1."""
    total: float


class FoundMemory(BaseModel):
    """A memory that a search found."""

    model_config = ConfigDict(frozen=True)

    memory: Memory
    score: Score
