"""Rankings by words and by meaning, their fusion, and the encoding of vectors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from bson.binary import Binary, BinaryVectorDtype

from qwestly_agent.stores.bm25 import TokenCounts, bm25_scores

if TYPE_CHECKING:
    import numpy as np

K = 5
"""The k of reciprocal rank fusion. With the usual 60, a search finds less than by words alone: `python -m
evals.finding`."""

TOKEN_BYTES = 120
"""Approximate memory per distinct token."""


@dataclass(frozen=True)
class Ranks:
    """A document's rank in each of the two orders, from 1."""

    words: int | None
    """None if the document contains no word of the query."""
    meaning: int | None
    """None if the document was not compared by vector."""
    total: float
    """The fused score; 1 for a document that is first in both orders."""


@dataclass(frozen=True)
class CachedText:
    """A document's text, tokens and vector, cached between searches."""

    text: str
    tokens: TokenCounts
    vector: "np.ndarray | None" = None
    """Normalized to length 1; None if not loaded yet or missing."""

    @classmethod
    def of(cls, text: str, stored: Any = None) -> "CachedText":
        """Tokenize the text and decode the vector; `stored` is the vector as in the database."""
        return cls(text, TokenCounts.of(text), normalize(to_floats(stored)) if stored else None)

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        vector = 0 if self.vector is None else self.vector.nbytes
        return vector + len(self.text) + TOKEN_BYTES * len(self.tokens.counts)


def rank_ids(
    ids: Sequence[Any], known: Sequence[CachedText], words: str, vector: Sequence[float] | None
) -> tuple[list[Any], list[Any]]:
    """Rank the ids by words (only those that contain one) and by meaning (all with a comparable vector). Stable."""
    scores = bm25_scores(words, [each.tokens for each in known])
    by_words = sorted((at for at, score in enumerate(scores) if score > 0), key=lambda at: -scores[at])
    by_meaning = [] if vector is None else _by_meaning([each.vector for each in known], vector)
    return [ids[at] for at in by_words], [ids[at] for at in by_meaning]


def _by_meaning(vectors: "Sequence[np.ndarray | None]", query: Sequence[float]) -> list[int]:
    import numpy as np  # lazy: importing it takes 60 ms of a cold start

    # A vector with other dimensions comes from another model and cannot be compared.
    comparable = [at for at, each in enumerate(vectors) if each is not None and len(each) == len(query)]
    if not comparable:
        return []
    cosines = np.stack([cast("np.ndarray", vectors[at]) for at in comparable]) @ np.asarray(query, dtype=np.float32)
    return [comparable[at] for at in np.argsort(-cosines, kind="stable").tolist()]


def fuse_ranks(orders: Iterable[Sequence[Any]], k: int = K) -> dict[Any, Ranks]:
    """Fuse both orders by reciprocal rank: the sum of 1 / (k + rank), divided by its maximum (Cormack, Clarke and
    Büttcher, SIGIR 2009)."""
    words, meaning = ({each: place for place, each in enumerate(order, 1)} for order in orders)
    return {each: _place(words.get(each), meaning.get(each), k) for each in {**words, **meaning}}


def _place(words: int | None, meaning: int | None, k: int) -> Ranks:
    return Ranks(words, meaning, sum((k + 1) / (k + place) / 2 for place in (words, meaning) if place))


def normalize(vector: Sequence[float]) -> "np.ndarray":
    import numpy as np

    floats = np.asarray(vector, dtype=np.float32)
    return floats / (np.linalg.norm(floats) or 1)


def cosines_of(vectors: Sequence[Any], query: Sequence[float]) -> list[float | None]:
    """Return the cosines of stored vectors with the query; None for a missing vector or one with other dimensions."""
    import numpy as np

    floats = [to_floats(stored) if stored else () for stored in vectors]
    known = [position for position, each in enumerate(floats) if len(each) == len(query)]
    cosines: list[float | None] = [None] * len(floats)
    if not known:
        return cosines
    matrix = np.array([floats[position] for position in known], dtype=np.float32)
    asked = np.asarray(query, dtype=np.float32)
    norms = np.linalg.norm(matrix, axis=1) * np.linalg.norm(asked)
    found = (matrix @ asked) / np.where(norms == 0, 1, norms)
    for position, cosine in zip(known, found.tolist(), strict=True):
        cosines[position] = cosine
    return cosines


def to_binary(vector: Sequence[float]) -> Binary:
    """Encode a vector as BSON float32, which takes a third of the size of a list."""
    return Binary.from_vector(list(vector), BinaryVectorDtype.FLOAT32)


def to_floats(stored: Any) -> Sequence[float]:
    """Decode a stored vector: a list (from the candidate app) or binary, which some servers return without its
    subtype."""
    if isinstance(stored, bytes):
        return cast(Sequence[float], Binary(bytes(stored), 9).as_vector().data)
    return stored
