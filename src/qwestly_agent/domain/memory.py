"""A memory, its trust, rank, evidence and vector, and the record of a forgotten one."""

import hashlib
import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.grounding.quotes import QUOTATION_MARKS, find_span
from qwestly_agent.text.clean import unescape_json, visible
from qwestly_agent.text.language import content_stems

if TYPE_CHECKING:
    import numpy as np


# --- memory -----------------------------------------------------------------------------------------------------------
# A memory, its trust, and the result of a search.


MemoryType: TypeAlias = Literal["fact", "preference", "goal", "decision", "skill", "experience", "constraint"]
Trust: TypeAlias = Literal["user_said", "user_document", "tool", "external", "inferred"]
"""Origins, most trusted first."""
MemoryStatus: TypeAlias = Literal["active", "proposed", "unchecked", "superseded", "merged"]
"""In use · waits for the user's approval · waits for a judge · replaced by another · merged into another. Only active
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
    """How a search ranked it: `total` is 0.7 times its share of the best score by words, plus 0.3 times its cosine,
    scaled from 0 for the least near to 1 for the nearest. Of equal totals, the more salient memory comes first."""

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


# --- ranking ----------------------------------------------------------------------------------------------------------
# Rank memories by importance and age, without a job that updates scores.


TAU_SECONDS = 90 * 86_400
LEAST_IMPORTANCE = 0.01


def salience(importance: float, created_at: float) -> float:
    """Return `ln(importance) + created_at/τ` for an importance in [0.01, 1] and seconds since the epoch.

    With exponential decay, the order of `importance·e^(−age/τ)` never changes over time. Its logarithm, without the
    term that all memories share, can therefore be stored once and indexed.
    """
    return math.log(min(max(importance, LEAST_IMPORTANCE), 1.0)) + created_at / TAU_SECONDS


def present(stored_salience: float, now: float) -> float:
    """Convert a stored salience to the current `importance·e^(−age/τ)`."""
    return math.exp(min(0.0, stored_salience - now / TAU_SECONDS))


# --- evidence ---------------------------------------------------------------------------------------------------------
# Ids of evidence: from a memory, a résumé or an interview.


MEMORY, RESUME, INTERVIEW = "memory:", "resume:", "interview:"
"""Prefixes of the ids."""
MOST_CHARACTERS_OF_ONE = 2_000
"""Maximum number of characters of one piece of evidence."""


def evidence_id(memory_id: str) -> str:
    return f"{MEMORY}{memory_id}"


def evidence_id_of_topic(conversation_id: str, place: int) -> str:
    return f"{INTERVIEW}{conversation_id}:{place}"


def resume_of(evidence_id: str) -> str:
    """Return the id of the résumé that the evidence comes from."""
    return evidence_id.removeprefix(RESUME).partition(":")[0]


def words_of_memory(memory: Memory) -> str:
    """Return a memory's text as evidence for a draft: the user's quote, not our sentence."""
    return visible(memory.quote or memory.content)[:MOST_CHARACTERS_OF_ONE]


# --- embedding --------------------------------------------------------------------------------------------------------
# The dimensions of all vectors.


DIMENSIONS = 1536


# --- tombstone --------------------------------------------------------------------------------------------------------
# The record of a forgotten memory: hashes salted with the user id and a coarse signature of its vector; no text.


PLANES = 256
"""Bits of a signature. At a cosine of 0.6 the estimate has a standard deviation of 0.07."""
SEED = 20_261_122
"""Seed of the random planes. Changing it invalidates every stored signature."""
LEAST_WORDS = 3
LEAST_LETTERS = 6
"""Minimum number of letters for scripts without spaces, where words cannot be counted."""

_TO_ONE_MARK = str.maketrans(dict.fromkeys(QUOTATION_MARKS, "'"))
_ENDS = " '.!?…。！？"


@dataclass(frozen=True)
class Tombstone:
    id: str
    user_id: str
    hashes: frozenset[str]
    """Hashes of the memory's content and quotes."""
    signature: bytes = b""
    """Empty if the memory had no vector."""
    dimensions: int = 0
    """Dimensions of that vector. Vectors from other models may have other dimensions, and cannot be compared."""
    message_ids: frozenset[str] = frozenset()
    """Ids of the messages that stated the memory."""
    stems: frozenset[str] = frozenset()
    """`stem_hashes` of its content and quote; empty for tombstones stored before this field existed."""

    def may_share_stem(self, text: str) -> bool:
        """True if the text may share a content stem with the memory."""
        return not self.stems or not self.stems.isdisjoint(stem_hashes(self.user_id, text))

    def cosine(self, vector: Sequence[float]) -> float:
        """Estimate the cosine from the Hamming distance of the signatures (Charikar 2002): cos(π · distance / bits)."""
        if not self.signature or len(vector) != self.dimensions:
            return 0.0
        other = signature_of(vector)
        distance = sum((one ^ two).bit_count() for one, two in zip(self.signature, other, strict=True))
        return math.cos(math.pi * distance / PLANES)


def folded(text: str) -> str:
    """Normalize the text for comparison: white space, case, quotation marks, NFKC, and final punctuation."""
    plain = unicodedata.normalize("NFKC", text).translate(_TO_ONE_MARK).casefold()
    return " ".join(plain.split()).strip(" '").rstrip(_ENDS)


def is_telling(words: str) -> bool:
    """True if the text is long enough to be recognized elsewhere. "Yes" and "in Lisbon" occur in many messages."""
    unspaced = sum(unicodedata.category(letter) == "Lo" for letter in words)
    return len(words.split()) >= LEAST_WORDS or unspaced >= LEAST_LETTERS


class TellingWords:
    """Phrases that are long enough to be recognized in other texts."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = {folded(each): each.strip(_ENDS) for each in words if is_telling(each)}

    def stands_in(self, text: str) -> bool:
        """True if one of the phrases occurs verbatim in the text, which may be JSON."""
        if not self.words or not text:
            return False
        # Normalizing the whole text first is fast, and misses nothing that the exact search would find.
        text = unescape_json(text)
        plain = folded(text)
        return any(short in plain and find_span(words, text) for short, words in self.words.items())


def hashes_of(user_id: str, content: str, quote: str) -> frozenset[str]:
    """Hash the content, and the quote if it is long enough to be recognized on its own."""
    texts = {folded(content), folded(quote) if is_telling(quote) else ""} - {""}
    return frozenset(hashlib.sha256(f"{user_id}\0{text}".encode()).hexdigest()[:32] for text in texts)


def stem_hashes(user_id: str, *texts: str) -> frozenset[str]:
    """Hash the content stems to 12 bits each: about twenty words of a language share a hash, so that no hash identifies
    a word."""
    stems = {stem for text in texts for stem in content_stems(text)}
    return frozenset(hashlib.sha256(f"{user_id}\0stem\0{stem}".encode()).hexdigest()[:3] for stem in stems)


def signature_of(vector: Sequence[float]) -> bytes:
    """Return one bit per random plane: the side on which the vector lies. Empty without a vector."""
    import numpy as np  # imported late: it would add 60 ms to every cold start

    if not len(vector):
        return b""
    sides = _planes(len(vector)) @ np.asarray(vector, dtype=np.float32) > 0
    return np.packbits(sides).tobytes()


@lru_cache(maxsize=2)
def _planes(dimensions: int) -> "np.ndarray[Any, Any]":
    import numpy as np

    # The legacy generator produces the same numbers in every version of numpy.
    return np.random.RandomState(SEED).standard_normal((PLANES, dimensions)).astype(np.float32)
