"""Search memories by words and vectors; by words only if no embedding is available."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from aws_lambda_powertools import Logger

from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.observability import Event
from qwestly_agent.domain.memory import FoundMemory, Memory, Score, present, salience
from qwestly_agent.services import ModelServices
from qwestly_agent.stores.memories import Memories, NearMemory

if TYPE_CHECKING:
    from qwestly_agent.llm.embeddings import Embeddings


MOST_SALIENT = 15
BEST_FOR_MESSAGE = 5
EMBEDDING_SECONDS = 0.15
"""How long the start of a conversation waits for the embedding of the first message."""

NEIGHBOURS = 8
"""Number of neighbors of a note, by words and by vectors."""
MOST_EMBEDDED = 100
"""Maximum memories embedded at a time by `embed_missing`."""

_MOST_RESULTS = MOST_SALIENT + BEST_FOR_MESSAGE
"""Large enough to keep the best memories even if the results include all of the most salient ones."""

FoundBy: TypeAlias = Literal["words_and_meaning", "words", "salience"]


@dataclass(frozen=True)
class Findings:
    found: list[FoundMemory]
    by: FoundBy
    """`words`: no embedding was available. `salience`: in addition, no memory contains any of the words, so these are
    the most salient ones."""


async def find(services: ModelServices, user_id: str, query: str, limit: int) -> list[FoundMemory]:
    """Return active memories, best first; none if no embedding is available and no memory contains any of the words."""
    return await services.memories.search(
        user_id, query, await vector_or_none(services.embeddings, services.logger, query), limit, services.clock()
    )


async def find_or_most_salient(
    memories: Memories, user_id: str, query: str, vector: Sequence[float] | None, limit: int, now: float
) -> Findings:
    """Return active memories, best first, or the most salient ones if there is no vector and no memory contains any of
    the words."""
    found = await memories.search(user_id, query, vector, limit, now)
    if vector is not None:
        return Findings(found, "words_and_meaning")
    if found:
        return Findings(found, "words")
    salient = await memories.most_salient(user_id, limit)
    return Findings([FoundMemory(memory=each, score=_of_salience(each, now)) for each in salient], "salience")


async def first_memories(
    services: ModelServices,
    user_id: str,
    message: str,
    salient: Sequence[Memory],
    by_words: Sequence[FoundMemory] | None,
    *,
    sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep,
) -> list[Memory]:
    """Return the most salient memories and the best matches for a conversation's first message, matched by vector too
    if the embedding arrives in time.

    `salient` has `MOST_SALIENT` + 1 memories if there are more; otherwise it contains all memories and no search is
    made. `by_words` is the result of `best_by_words`, or None if it was not called.
    """
    first = list(salient[:MOST_SALIENT])
    if len(salient) <= MOST_SALIENT or not message.strip():
        return first
    vector = await _in_time(vector_or_none(services.embeddings, services.logger, message), sleep(EMBEDDING_SECONDS))
    if vector is not None or by_words is None:
        by_words = await services.memories.search(user_id, message, vector, _MOST_RESULTS, services.clock())
    known = {each.id for each in first}
    best = [each.memory for each in by_words if each.memory.id not in known]
    return [*first, *best[:BEST_FOR_MESSAGE]]


async def best_by_words(memories: Memories, clock: Clock, user_id: str, message: str) -> list[FoundMemory]:
    """Return the best memories by words, enough for `first_memories`, in one round trip."""
    return await memories.search(user_id, message, None, _MOST_RESULTS, clock())


async def vectors_or_none(embeddings: "Embeddings", logger: Logger, texts: Sequence[str]) -> list[list[float]]:
    """Return a vector for each text, or empty vectors if no embedding is available; the memories are then found only by
    words until `embed_missing` runs."""
    try:
        return await embeddings.embed(texts)
    except Unavailable:
        logger.warning(Event.SEARCH_WITHOUT_VECTORS)
        return [[] for _ in texts]


async def embed_missing(services: ModelServices, user_id: str) -> None:
    """Embed memories that were written while no embedding was available, if one is available now."""
    left = await services.memories.list_without_vectors(user_id, MOST_EMBEDDED)
    vectors = await vectors_or_none(services.embeddings, services.logger, [each.content for each in left])
    for memory, vector in zip(left, vectors, strict=True):
        if vector:
            await services.memories.set_vector(user_id, memory, vector)


async def nearest_cosine(
    memories: Memories, user_id: str, text: str, vector: Sequence[float], without: str = ""
) -> float:
    """Return the cosine of the nearest active memory, except `without`; -1 if there is none."""
    [near] = await memories.find_near(user_id, [(text, vector or None)], NEIGHBOURS)
    return max_cosine(near, without)


def max_cosine(near: Sequence[NearMemory], without: str | None) -> float:
    active = (each.cosine for each in near if each.memory.status == "active" and each.memory.id != without)
    return max(active, default=-1.0)


async def vector_or_none(embeddings: "Embeddings", logger: Logger, query: str) -> list[float] | None:
    [vector] = await vectors_or_none(embeddings, logger, [query])
    return vector or None


async def _in_time(
    asked: Coroutine[Any, Any, list[float] | None], limit: Coroutine[Any, Any, None]
) -> list[float] | None:
    proposer, waiting = asyncio.ensure_future(asked), asyncio.ensure_future(limit)
    try:
        await asyncio.wait([proposer, waiting], return_when=asyncio.FIRST_COMPLETED)
        return proposer.result() if proposer.done() else None
    finally:
        proposer.cancel()
        waiting.cancel()
        await asyncio.gather(proposer, waiting, return_exceptions=True)


def _of_salience(memory: Memory, now: float) -> Score:
    told = memory.created_at.timestamp() if memory.created_at else now
    return Score(words=None, meaning=None, salience=round(present(salience(memory.importance, told), now), 4), total=0)
