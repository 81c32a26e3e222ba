"""Okapi BM25 over one person's texts.

The formula is Lucene's (`BM25Similarity`: k1 1.2, b 0.75, idf = ln(1 + (N - n + 0.5) / (n + 0.5))), so that a search in
this process ranks as Atlas Search does. A BM25 library would build an index for each search, and the fastest ones need
compiled extensions.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qwestly_agent.text.language import tokens_of

K1, B = 1.2, 0.75


@dataclass(frozen=True)
class TokenCounts:
    """Counts of a text's tokens."""

    counts: Mapping[str, int]
    total: int

    @classmethod
    def of(cls, text: str) -> "TokenCounts":
        counts = Counter(tokens_of(text))
        return cls(counts, counts.total())


def bm25_scores(query: str, texts: Sequence[TokenCounts]) -> list[float]:
    """Return a score for each text; 0 if it contains no word of the query."""
    scores = [0.0] * len(texts)
    average = sum(text.total for text in texts) / len(texts) if texts else 0.0
    for token in set(tokens_of(query)):
        having = [(at, count) for at, text in enumerate(texts) if (count := text.counts.get(token))]
        idf = math.log(1 + (len(texts) - len(having) + 0.5) / (len(having) + 0.5))
        for at, count in having:
            scores[at] += idf * count / (count + K1 * (1 - B + B * texts[at].total / average))
    return scores
