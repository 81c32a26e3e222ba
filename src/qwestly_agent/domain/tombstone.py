"""The record of a forgotten memory: hashes salted with the user id and a coarse signature of its vector; no text."""

import hashlib
import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from qwestly_agent.grounding.quotes import QUOTATION_MARKS, find_span
from qwestly_agent.text.clean import unescape_json

if TYPE_CHECKING:
    import numpy as np

PLANES = 256
"""Bits of a signature. At a cosine of 0.6 the estimate has a standard deviation of 0.07."""
SEED = 20_261_122
"""Seed of the random planes. Changing it invalidates every stored signature."""
LEAST_WORDS = 3
LEAST_LETTERS = 6
"""Used instead of words for scripts without spaces."""

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
    """Dimensions of that vector. Vectors of other models may have others, and cannot be compared."""
    message_ids: frozenset[str] = frozenset()
    """Ids of the messages that stated the memory."""

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
    """Hash the content, and the quote if it is long enough to be recognized by itself."""
    texts = {folded(content), folded(quote) if is_telling(quote) else ""} - {""}
    return frozenset(hashlib.sha256(f"{user_id}\0{text}".encode()).hexdigest()[:32] for text in texts)


def signature_of(vector: Sequence[float]) -> bytes:
    """Return one bit for each random plane: the side on which the vector lies. Empty without a vector."""
    import numpy as np  # imported late: it would cost every cold start 60 ms

    if not len(vector):
        return b""
    sides = _planes(len(vector)) @ np.asarray(vector, dtype=np.float32) > 0
    return np.packbits(sides).tobytes()


@lru_cache(maxsize=2)
def _planes(dimensions: int) -> "np.ndarray[Any, Any]":
    import numpy as np

    # The legacy generator produces the same numbers in every version of numpy.
    return np.random.RandomState(SEED).standard_normal((PLANES, dimensions)).astype(np.float32)
