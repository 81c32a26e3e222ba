"""Search by meaning where the server can, exactly where it cannot, by words where there is no vector."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from bson.binary import Binary, BinaryVectorDtype
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import OperationFailure

Document = dict[str, Any]
Filter = Mapping[str, Any]
Query = tuple[str, Sequence[float] | None]
"""Words, and the vector of their meaning where there is one."""

EXACT_LIMIT = 10_000
"""Documents of one user that are compared at the most; for so many numpy takes about a millisecond."""

NOT_COMPARED = 0.99
"""What has no vector stands behind what is as near by its own."""

_CANNOT = re.compile(r"\$vectorSearch|indexed as filter")


@dataclass
class Searchable:
    """A collection whose documents carry a text and a vector.

    `filter` must hold what the index declares as filter fields: it is applied inside the search, never after it, where
    a small user among big ones would get too little or nothing.
    """

    collection: AsyncCollection[Document]
    index: str
    vector_field: str
    text_field: str
    _server_can: bool = field(default=True, init=False)

    async def nearest(
        self, filter: Filter, words: str, vector: Sequence[float] | None, limit: int
    ) -> list[tuple[Document, float]]:
        """The best documents with their scores, best first; without their vectors."""
        [found] = await self.nearest_to_each(filter, [(words, vector)], limit)
        return found

    async def nearest_to_each(
        self, filter: Filter, queries: Sequence[Query], limit: int
    ) -> list[list[tuple[Document, float]]]:
        """The same for each of several queries; where the server cannot search, the documents are read once."""
        if self._server_can and queries and all(vector is not None for _, vector in queries):
            try:
                found = [await self._nearest_by_index(filter, vector or (), limit) for _, vector in queries]
                # An index that is missing, or still being built, answers with nothing, as does one that has not yet
                # seen what was just inserted: then it is worth comparing.
                if all(found):
                    return found
            except OperationFailure as error:
                # A server without `$vectorSearch`, or an index without a filter field: neither mends itself while this
                # process lives, and `python -m infra.mongo check` tells the operator.
                self._server_can = not _CANNOT.search(str(error))
        return await self._nearest_by_comparing(filter, queries, limit)

    async def _nearest_by_index(
        self, filter: Filter, vector: Sequence[float], limit: int
    ) -> list[tuple[Document, float]]:
        stages: list[Document] = [
            {
                "$vectorSearch": {
                    "index": self.index,
                    "path": self.vector_field,
                    "queryVector": list(vector),
                    "numCandidates": max(100, limit * 20),
                    "limit": limit,
                    "filter": dict(filter),
                }
            },
            {"$set": {"_score": {"$meta": "vectorSearchScore"}}},
            {"$unset": self.vector_field},
        ]
        cursor = await self.collection.aggregate(stages)
        # Atlas scores a cosine as (1 + cosine) / 2.
        return [(document, 2 * document.pop("_score") - 1) async for document in cursor]

    async def _nearest_by_comparing(
        self, filter: Filter, queries: Sequence[Query], limit: int
    ) -> list[list[tuple[Document, float]]]:
        with_vectors = any(vector is not None for _, vector in queries)
        fields = {self.text_field: 1, **({self.vector_field: 1} if with_vectors else {})}
        candidates = await self.collection.find(filter, fields).limit(EXACT_LIMIT).to_list()
        texts = [candidate.get(self.text_field) or "" for candidate in candidates]
        vectors = [candidate.get(self.vector_field) for candidate in candidates]
        ids = [candidate["_id"] for candidate in candidates]
        scores_of = [_best(ids, _scores(texts, vectors, words, vector), vector, limit) for words, vector in queries]
        wanted = list(dict.fromkeys(each for scores in scores_of for each in scores))
        if not wanted:
            return [[] for _ in queries]
        found = self.collection.find({**filter, "_id": {"$in": wanted}}, {self.vector_field: 0})
        documents = {document["_id"]: document async for document in found}
        return [
            [(dict(documents[each]), score) for each, score in scores.items() if each in documents]
            for scores in scores_of
        ]


def _best(ids: list[Any], scores: list[float], vector: Sequence[float] | None, limit: int) -> dict[Any, float]:
    """The best first."""
    ranked = sorted(zip(ids, scores, strict=True), key=lambda pair: -pair[1])[:limit]
    # By meaning the nearest are an answer however far they are, as from an index: "what do you know about me?" is
    # far from everything. By words, those that share none are not.
    return {each: score for each, score in ranked if score > 0 or vector is not None}


def _scores(texts: list[str], vectors: list[Any], words: str, vector: Sequence[float] | None) -> list[float]:
    by_words = [share_of_words(words, text) for text in texts]
    if vector is None:
        return by_words
    cosines = cosines_of(vectors, vector)
    return [by_words[at] * NOT_COMPARED if cosine is None else cosine for at, cosine in enumerate(cosines)]


def cosines_of(vectors: Sequence[Any], query: Sequence[float]) -> list[float | None]:
    """Of stored vectors with the query; None where one is missing, or another model's."""
    import numpy as np  # only where vectors are compared: it costs every other cold start 60 ms

    # A vector of other dimensions is another model's, and comparable with nothing.
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


def share_of_words(query: str, text: str) -> float:
    """Of the query's words, how many the text has."""
    asked = _words(query)
    return len(asked & _words(text)) / len(asked) if asked else 0.0


def _words(text: str) -> set[str]:
    return {word.rstrip("s") for word in re.findall(r"\w{2,}", text.lower())}


def to_binary(vector: Sequence[float]) -> Binary:
    """A vector as it is stored: float32, a third of the space of a list."""
    return Binary.from_vector(list(vector), BinaryVectorDtype.FLOAT32)


def to_floats(stored: Any) -> Sequence[float]:
    """A stored vector: a list (the candidate app's) or binary, which some servers give back without its subtype."""
    if isinstance(stored, bytes):
        return cast(Sequence[float], Binary(bytes(stored), 9).as_vector().data)
    return stored
