"""Okapi BM25 over the texts of one person, and the tokens that it counts.

The formula is Lucene's (`BM25Similarity`: k1 1.2, b 0.75, idf = ln(1 + (N - n + 0.5) / (n + 0.5))), so that a search in
this process ranks as Atlas Search does. A BM25 library would build an index for each search, and the fastest ones need
compiled extensions.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from qwestly_agent.base.patterns import pattern

K1, B = 1.2, 0.75

_NO_WORD = pattern(r"[\W_]")
_UNSPACED = pattern(
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]+"
)
"""Runs of scripts without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, kana, Han."""


@dataclass(frozen=True)
class Tokens:
    """Counts of a text's tokens."""

    counts: Mapping[str, int]
    total: int

    @classmethod
    def of(cls, text: str) -> "Tokens":
        counts = Counter(tokens_of(text))
        return cls(counts, counts.total())


def tokens_of(text: str) -> list[str]:
    """Words in lower case after NFKC, without stemming or stop words; bigrams for scripts without spaces."""
    plain = _NO_WORD.sub(_mark_or_blank, unicodedata.normalize("NFKC", text).lower())
    if plain.isascii():
        return plain.split()
    return _UNSPACED.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", plain).split()


def _mark_or_blank(found: re.Match[str]) -> str:
    # A vowel sign of Hindi or Thai does not match `\w`, but stands in the middle of a word.
    return found[0] if unicodedata.category(found[0]).startswith("M") else " "


def _pairs(run: str) -> Iterable[str]:
    return ("".join(pair) for pair in pairwise(run)) if len(run) > 1 else run


def bm25(query: str, texts: Sequence[Tokens]) -> list[float]:
    """The score of each text; 0 if it contains no word of the query."""
    scores = [0.0] * len(texts)
    average = sum(text.total for text in texts) / len(texts) if texts else 0.0
    for token in set(tokens_of(query)):
        having = [(at, count) for at, text in enumerate(texts) if (count := text.counts.get(token))]
        idf = math.log(1 + (len(texts) - len(having) + 0.5) / (len(having) + 0.5))
        for at, count in having:
            scores[at] += idf * count / (count + K1 * (1 - B + B * texts[at].total / average))
    return scores
