"""The record of a forgotten memory: hashes salted by user and a coarse signature of its vector; no text."""

import hashlib
import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from qwestly_agent.grounding.quotes import QUOTATION_MARKS, find_span
from qwestly_agent.text.clean import unescaped

if TYPE_CHECKING:
    import numpy as np

PLANES = 256
"""Bits of a signature: at a cosine of 0.6 the estimate has a standard deviation of 0.07."""
SEED = 20_261_122
"""Of the random planes. Another seed makes every kept signature meaningless."""
LEAST_WORDS = 3
LEAST_LETTERS = 6
"""In place of words, of a script that writes no blanks between them."""

_TO_ONE_MARK = str.maketrans(dict.fromkeys(QUOTATION_MARKS, "'"))
_ENDS = " '.!?…。！？"


@dataclass(frozen=True)
class Tombstone:
    id: str
    user_id: str
    hashes: frozenset[str]
    """Of its content and of its quotes."""
    signature: bytes = b""
    """Empty where it had no vector."""
    dimensions: int = 0
    """Of that vector: one of other dimensions is another model's, and comparable with nothing."""
    message_ids: frozenset[str] = frozenset()
    """The messages that said it."""

    def cosine(self, vector: Sequence[float]) -> float:
        """Estimated from the Hamming distance of the signatures (Charikar 2002): cos(π · distance / bits)."""
        if not self.signature or len(vector) != self.dimensions:
            return 0.0
        other = signature_of(vector)
        distance = sum((one ^ two).bit_count() for one, two in zip(self.signature, other, strict=True))
        return math.cos(math.pi * distance / PLANES)


def folded(text: str) -> str:
    """The text as it is compared: white space, case, quotation marks, NFKC and a sentence's end make no difference."""
    plain = unicodedata.normalize("NFKC", text).translate(_TO_ONE_MARK).casefold()
    return " ".join(plain.split()).strip(" '").rstrip(_ENDS)


def is_telling(words: str) -> bool:
    """Tell whether words are long enough to be recognized elsewhere: "Yes" and "in Lisbon" stand in many messages."""
    unspaced = sum(unicodedata.category(letter) == "Lo" for letter in words)
    return len(words.split()) >= LEAST_WORDS or unspaced >= LEAST_LETTERS


class Telling:
    """Words that are long enough to be recognized in other texts."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = {folded(each): each.strip(_ENDS) for each in words if is_telling(each)}

    def stands_in(self, text: str) -> bool:
        """Tell whether some of the words stand in a text verbatim, also inside of JSON."""
        if not self.words or not text:
            return False
        # The fold of a whole text is fast, and finds all that the exact look could.
        text = unescaped(text)
        plain = folded(text)
        return any(short in plain and find_span(words, text) for short, words in self.words.items())


def hashes_of(user_id: str, content: str, quote: str) -> frozenset[str]:
    """The hashes of the content, and of the quote where it is long enough to say the same by itself."""
    texts = {folded(content), folded(quote) if is_telling(quote) else ""} - {""}
    return frozenset(hashlib.sha256(f"{user_id}\0{text}".encode()).hexdigest()[:32] for text in texts)


def signature_of(vector: Sequence[float]) -> bytes:
    """On which side of each random plane the vector lies, a bit each; empty for no vector."""
    import numpy as np  # only where vectors are compared: it costs every other cold start 60 ms

    if not len(vector):
        return b""
    sides = _planes(len(vector)) @ np.asarray(vector, dtype=np.float32) > 0
    return np.packbits(sides).tobytes()


@lru_cache(maxsize=2)
def _planes(dimensions: int) -> "np.ndarray[Any, Any]":
    import numpy as np

    # The legacy generator: its stream is the same in every version of numpy.
    return np.random.RandomState(SEED).standard_normal((PLANES, dimensions)).astype(np.float32)
