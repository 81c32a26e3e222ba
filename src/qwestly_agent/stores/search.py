"""Search a user's documents by words and by meaning: BM25, cosines, and the combination of both."""

import asyncio
import math
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from bson.binary import Binary, BinaryVectorDtype
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import OperationFailure

from qwestly_agent.text.language import indexed_words, query_words, tokens_of

if TYPE_CHECKING:
    import numpy as np


# --- bm25 -------------------------------------------------------------------------------------------------------------
# Okapi BM25 over one person's texts.
#
# The formula is Lucene's (`BM25Similarity`: k1 1.2, b 0.75, idf = ln(1 + (N - n + 0.5) / (n + 0.5))), so that a search
# in this process ranks like Atlas Search. A BM25 library would build an index for each search, and the fastest ones
# need compiled extensions.


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


# --- ranks ------------------------------------------------------------------------------------------------------------
# Scores by words and by meaning, their combination, and the encoding of vectors.


SHARE = 0.3
"""The weight of meaning in the total; the rest is the weight of words. Chosen by `python -m evals.finding`."""

Scores: TypeAlias = Mapping[Any, float]
"""Scores of one ranking by id, best first. They are scaled, so that scores from an index and from this process
agree."""

TOKEN_BYTES = 120
"""Approximate memory per distinct token."""


@dataclass(frozen=True)
class Ranks:
    """A document's rank in each of the two rankings, starting at 1."""

    words: int | None
    """None if the document contains no word of the query."""
    meaning: int | None
    """None if the document was not compared by vector."""
    total: float
    """The weighted sum of both scaled scores; 1 for a document that is first in both rankings."""


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


def score_ids(
    ids: Sequence[Any], known: Sequence[CachedText], words: str, vector: Sequence[float] | None
) -> tuple[Scores, Scores]:
    """Score the ids by words (only those that contain one) and by meaning (all with a comparable vector). The order is
    stable."""
    by_words = {at: score for at, score in enumerate(bm25_scores(words, [each.tokens for each in known])) if score > 0}
    by_meaning = {} if vector is None else _cosines([each.vector for each in known], vector)
    by_words, by_meaning = (
        {ids[at]: scores[at] for at in sorted(scores, key=lambda at, of=scores: -of[at])}
        for scores in (by_words, by_meaning)
    )
    return by_words, by_meaning


def _cosines(vectors: "Sequence[np.ndarray | None]", query: Sequence[float]) -> dict[int, float]:
    import numpy as np  # lazy: importing it takes 60 ms of a cold start

    # A vector with other dimensions comes from another model and cannot be compared.
    comparable = [at for at, each in enumerate(vectors) if each is not None and len(each) == len(query)]
    if not comparable:
        return {}
    cosines = np.stack([cast("np.ndarray", vectors[at]) for at in comparable]) @ normalize(query)
    return dict(zip(comparable, cosines.tolist(), strict=True))


def join(words: Scores, meaning: Scores, share: float = SHARE) -> dict[Any, Ranks]:
    """Combine both rankings by the weighted sum of their scaled scores: BM25 divided by the best score, and cosines
    scaled from 0 for the lowest in `meaning` to 1 for the highest."""
    most, least = max(words.values(), default=1.0), min(meaning.values(), default=0.0)
    spread = max(meaning.values(), default=0.0) - least
    scaled = {each: (1 - share) * score / most for each, score in words.items()}
    for each, score in meaning.items():
        scaled[each] = scaled.get(each, 0.0) + share * ((score - least) / spread if spread else 1.0)
    places = [{each: place for place, each in enumerate(order, 1)} for order in (words, meaning)]
    return {each: Ranks(places[0].get(each), places[1].get(each), total) for each, total in scaled.items()}


def top(scores: Scores, depth: int) -> Scores:
    """Return the first `depth` scores."""
    return dict(islice(scores.items(), depth))


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
    """Encode a vector as BSON float32, a third of the size of a list."""
    return Binary.from_vector(list(vector), BinaryVectorDtype.FLOAT32)


def to_int8(vector: Sequence[float]) -> Binary:
    """Encode a vector as BSON int8, a quarter of the size of float32. Its largest component becomes 127 or -127, as a
    cosine does not depend on the scale."""
    largest = max(map(abs, vector), default=0.0) or 1.0
    return Binary.from_vector([round(127 * each / largest) for each in vector], BinaryVectorDtype.INT8)


def to_floats(stored: Any) -> Sequence[float]:
    """Decode a stored vector: a list (from the candidate app) or binary, which some servers return without its
    subtype."""
    if isinstance(stored, bytes):
        return cast(Sequence[float], Binary(bytes(stored), 9).as_vector().data)
    return stored


# --- search -----------------------------------------------------------------------------------------------------------
# Hybrid search (BM25 and vectors) over a user's documents. Uses the server's indexes if there are any, otherwise the
# same formula in this process.


if TYPE_CHECKING:
    pass

Document = dict[str, Any]
Filter = Mapping[str, Any]
Found = Sequence[tuple[Document, float]]
"""Documents with their scores, best first."""
Query = tuple[str, Sequence[float] | None]
"""The text, and its embedding if there is one."""

DEPTH = 100
"""Minimum number of best documents of each ranking that are combined."""

LONGEST_QUERY_CHARACTERS = 1_000
"""Longer queries are truncated: `$search` rejects more than 1,024 clauses, one per word."""

EXACT_LIMIT = 10_000
"""Maximum number of a user's documents compared in this process; the preferred ones are kept."""

CACHE_BYTES = 100_000_000
"""Size limit of one collection's cached vectors and tokens, per process."""

QUERIES_AT_ONCE = 8
"""Maximum queries that run concurrently, with two aggregations each."""

SCORE = "_score"
"""Name of the field with an index's score."""

MOST_CANDIDATES = 10_000
"""The limit of `$vectorSearch`."""

_UNSUPPORTED = re.compile(r"\$vectorSearch|\$search|indexed as (filter|token)")


@dataclass(frozen=True)
class Match:
    """A document that was found, without its vector."""

    document: Document
    place: Ranks


@dataclass
class TextCache:
    """LRU cache of documents' tokens and vectors, by id.

    Every search still reads the existing documents and their texts from the database. An entry with another text is
    stale.
    """

    largest: int = CACHE_BYTES
    size: int = 0
    _kept: OrderedDict[Hashable, CachedText] = field(default_factory=OrderedDict)

    def get(self, id: Hashable, text: str) -> CachedText:
        kept = self._kept.get(id)
        if kept is None or kept.text != text:
            kept = CachedText.of(text)
            self.put(id, kept)
        else:
            self._kept.move_to_end(id)
        return kept

    def put(self, id: Hashable, known: CachedText) -> None:
        if before := self._kept.pop(id, None):
            self.size -= before.size
        self._kept[id] = known
        self.size += known.size
        while self.size > self.largest:
            _, dropped = self._kept.popitem(last=False)
            self.size -= dropped.size


@dataclass
class Searchable:
    """A collection whose documents have a text and a vector.

    `filter` may use only the filter fields of the indexes, because it is applied inside the search. Applied after the
    search, it could leave few or no results for a user with few documents.
    """

    collection: AsyncCollection[Document]
    vector_index: str
    vector_field: str
    text_field: str
    stems_field: str | None = None
    """Field with the stems of the text, if they are searched."""
    words_index: str | None = None
    """None if words are always compared in this process."""
    preferred_by: str | None = None
    """A numeric field; among documents with equal scores, the one with the highest value comes first."""
    encode: Callable[[Sequence[float]], Any] = list
    """Encodes a query vector for `$vectorSearch` in the type of the stored vectors: Atlas compares int8 only with
    int8."""
    cache: TextCache = field(default_factory=TextCache, repr=False)
    _unsupported: set[str] = field(default_factory=set, init=False)
    """Aggregation stages that this server rejects."""
    _answering: set[str] = field(default_factory=set, init=False)
    """Aggregation stages whose index has returned something in this process."""

    async def find_nearest(self, filter: Filter, words: str, vector: Sequence[float] | None, limit: int) -> list[Match]:
        """Return the best documents, best first. Without words they are ranked by meaning only."""
        [found] = await self.find_nearest_to_each(filter, [(words, vector)], limit)
        return found

    async def find_nearest_to_each(self, filter: Filter, queries: Sequence[Query], limit: int) -> list[list[Match]]:
        """Run `find_nearest` for several queries. Documents that are compared in this process are read once for all
        queries."""
        depth = min(max(DEPTH, limit), MOST_CANDIDATES)
        queries = [(words[:LONGEST_QUERY_CHARACTERS], vector) for words, vector in queries]
        if self.stems_field:
            queries = [(query_words(words), vector) for words, vector in queries]
        indexed = list[list[Found | None]]()
        while len(indexed) < len(queries):
            # One query first, to learn which stages this server rejects.
            at_once = QUERIES_AT_ONCE if self._unsupported or self._answering else 1
            some = queries[len(indexed) : len(indexed) + at_once]
            indexed += await asyncio.gather(*(self._by_indexes(filter, *each, depth) for each in some))
        documents = {each["_id"]: each for orders in indexed for order in orders for each, _ in order or ()}
        orders: list[list[Scores | None]] = [
            [None if order is None else {each["_id"]: score for each, score in order} for order in some]
            for some in indexed
        ]
        ranks = {key: each.get(self.preferred_by or "") for key, each in documents.items()}
        if any(order is None for each in orders for order in each):
            compare_meaning = any(meaning is None for _, meaning in orders)
            # Reading whole documents takes twice as long, but when their vectors are not cached (at the start of a
            # session) it saves a round trip.
            read = await self._read(filter, whole=not compare_meaning)
            known = await self._cached_texts(filter, read, with_vectors=compare_meaning)
            documents |= {} if compare_meaning else {each["_id"]: each for each in read}
            ranks |= {each["_id"]: each.get(self.preferred_by or "") for each in read}
            for each, (words, vector) in zip(orders, queries, strict=True):
                compared = score_ids([*known], [*known.values()], words, vector)
                each[:] = [own if order is None else order for order, own in zip(each, compared, strict=True)]
        places = [join(top(words or {}, depth), top(meaning or {}, depth)) for words, meaning in orders]
        best = [sorted(each, key=lambda key, of=each: (-of[key].total, -(ranks[key] or 0)))[:limit] for each in places]
        if missing := {key for each in best for key in each} - documents.keys():
            found = self.collection.find({**filter, "_id": {"$in": list(missing)}}, {self.vector_field: 0})
            documents |= {document["_id"]: document async for document in found}
        return [
            [Match(documents[key], of[key]) for key in each if key in documents]
            for each, of in zip(best, places, strict=True)
        ]

    # --- with the server's indexes ------------------------------------------------------------------------------------

    async def _by_indexes(
        self, filter: Filter, words: str, vector: Sequence[float] | None, depth: int
    ) -> list[Found | None]:
        """Return documents ordered by words and by meaning; None for an order that must be computed in this process."""
        if not words and vector is not None:
            return [[], await self._by_index(filter, "$vectorSearch", self._vector_stage(filter, vector, depth), depth)]
        by_words = self._by_index(filter, "$search", self._words_stage(filter, words), depth)
        if vector is None:
            return [await by_words, []]
        by_meaning = self._by_index(filter, "$vectorSearch", self._vector_stage(filter, vector, depth), depth)
        return list(await asyncio.gather(by_words, by_meaning))

    def _words_stage(self, filter: Filter, words: str) -> Document:
        # `$search` rejects an empty text.
        text = {"text": {"query": words.strip() or "?", "path": self.stems_field or self.text_field}}
        clauses = {"filter": [*_clauses(filter)]} if filter else {}
        return {"index": self.words_index, "compound": {"must": [text], **clauses}}

    def _vector_stage(self, filter: Filter, vector: Sequence[float], depth: int) -> Document:
        return {
            "index": self.vector_index,
            "path": self.vector_field,
            "queryVector": self.encode(vector),
            "numCandidates": min(depth * 20, MOST_CANDIDATES),
            "limit": depth,
            "filter": dict(filter),
        }

    async def _by_index(self, filter: Filter, stage: str, details: Document, depth: int) -> Found | None:
        if stage in self._unsupported or details["index"] is None:
            return None
        try:
            score = {"$meta": "searchScore" if stage == "$search" else "vectorSearchScore"}
            stages = [{stage: details}, {"$limit": depth}, {"$set": {SCORE: score}}, {"$unset": self.vector_field}]
            cursor = await self.collection.aggregate(stages)
            found = await cursor.to_list()
        except OperationFailure as error:
            # The server lacks this stage, or the index lacks a filter field. This process does not try it again.
            # `qwestly-agent mongo check` reports both problems to the operator.
            if _UNSUPPORTED.search(str(error)):
                self._unsupported.add(stage)
            return None
        if found:
            self._answering.add(stage)
        # An index that is missing or being built finds nothing, so compare in this process. If this `$search` has found
        # something before, however, the empty result is right: most first messages share no word with any memory.
        elif stage == "$vectorSearch" or stage not in self._answering:
            return None
        # An index lags behind, so its results may have been forgotten since.
        return [(each, each.pop(SCORE)) for each in found if _matches(each, filter)]

    def words_of(self, document: Document) -> str:
        text = document.get(self.text_field) or ""
        # A document written before stems were stored has none.
        return (document.get(self.stems_field) or indexed_words(text)) if self.stems_field else text

    # --- in this process ----------------------------------------------------------------------------------------------

    async def _read(self, filter: Filter, *, whole: bool) -> list[Document]:
        """Return documents without vectors, preferred ones first; only the compared fields unless `whole`."""
        # `find` would take three times as long on the local database.
        sort = [{"$sort": {self.preferred_by: -1}}] if self.preferred_by else []
        shown = {name: 1 for name in (self.text_field, self.stems_field, self.preferred_by) if name}
        stage = {"$unset": self.vector_field} if whole else {"$project": shown}
        cursor = await self.collection.aggregate([{"$match": dict(filter)}, *sort, {"$limit": EXACT_LIMIT}, stage])
        return await cursor.to_list()

    async def _cached_texts(
        self, filter: Filter, read: Sequence[Document], *, with_vectors: bool
    ) -> dict[Any, CachedText]:
        known = {each["_id"]: self.cache.get(each["_id"], self.words_of(each)) for each in read}
        without = [key for key, each in known.items() if each.vector is None] if with_vectors else []
        if without:
            # An `$in` of thousands of ids is slower than reading a few documents twice.
            missing = {**filter, "_id": {"$in": without}} if len(without) < len(known) / 2 else filter
            async for each in self.collection.find(missing, {self.vector_field: 1}).limit(EXACT_LIMIT):
                if each["_id"] in known and (stored := each.get(self.vector_field)):
                    vector = normalize(to_floats(stored))
                    known[each["_id"]] = replace(known[each["_id"]], vector=vector)
                    self.cache.put(each["_id"], known[each["_id"]])
        return known


def _clauses(filter: Filter) -> Iterable[Document]:
    """Translate a filter into clauses of `$search`."""
    for path, value in filter.items():
        if isinstance(value, Mapping):
            yield {"in": {"path": path, "value": list(value["$in"])}}
        else:
            yield {"equals": {"path": path, "value": value}}


def _matches(document: Document, filter: Filter) -> bool:
    return all(
        document.get(path) in value["$in"] if isinstance(value, Mapping) else document.get(path) == value
        for path, value in filter.items()
    )
