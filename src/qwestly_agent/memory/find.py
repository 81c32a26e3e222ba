"""Searches of what is remembered: by words and by meaning, by words alone where no vector can be had."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from aws_lambda_powertools import Logger

from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.observability import Event
from qwestly_agent.domain.memory import Found, Memory, Score
from qwestly_agent.domain.ranking import present, salience
from qwestly_agent.services import HasClock, HasEmbeddings, HasLogger, HasMemories
from qwestly_agent.stores.memories import Memories

if TYPE_CHECKING:
    from qwestly_agent.llm.embeddings import Embeddings


class FindServices(HasClock, HasEmbeddings, HasLogger, HasMemories, Protocol): ...


MOST_SALIENT = 15
BEST_FOR_MESSAGE = 5
EMBEDDING_SECONDS = 0.15
"""How long a session's first words wait for a vector of its first message."""

_CONSIDERED = MOST_SALIENT + BEST_FOR_MESSAGE
"""All of the most salient may be among the best."""

FoundBy: TypeAlias = Literal["words_and_meaning", "words", "salience"]


@dataclass(frozen=True)
class Findings:
    found: list[Found]
    by: FoundBy
    """`words`: no vector could be had; `salience`: nor has any memory one of the words, and these are the most
    salient."""


async def find(services: FindServices, user_id: str, query: str, limit: int) -> list[Found]:
    """What holds, the best first; nothing where no vector can be had and no memory has one of the words."""
    return await services.memories.search(
        user_id, query, await vector_or_none(services.embeddings, services.logger, query), limit, services.clock()
    )


async def find_something(
    memories: Memories, user_id: str, query: str, vector: Sequence[float] | None, limit: int, now: float
) -> Findings:
    """What holds, the best first; the most salient where no vector could be had and no memory has one of the words."""
    found = await memories.search(user_id, query, vector, limit, now)
    if vector is not None:
        return Findings(found, "words_and_meaning")
    if found:
        return Findings(found, "words")
    salient = await memories.most_salient(user_id, limit)
    return Findings([Found(memory=each, score=_of_salience(each, now)) for each in salient], "salience")


async def first_memories(
    services: FindServices,
    user_id: str,
    message: str,
    salient: Sequence[Memory],
    by_words: Sequence[Found] | None,
    *,
    sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep,
) -> list[Memory]:
    """The most salient and the best for a session's first message, by meaning too where its vector comes in time.

    `salient` has one more than `MOST_SALIENT` where there are more; otherwise all are in it and nothing is searched.
    `by_words` is what `best_by_words` found, None where it was not asked.
    """
    first = list(salient[:MOST_SALIENT])
    if len(salient) <= MOST_SALIENT or not message.strip():
        return first
    vector = await _in_time(vector_or_none(services.embeddings, services.logger, message), sleep(EMBEDDING_SECONDS))
    if vector is not None or by_words is None:
        by_words = await services.memories.search(user_id, message, vector, _CONSIDERED, services.clock())
    known = {each.id for each in first}
    best = [each.memory for each in by_words if each.memory.id not in known]
    return [*first, *best[:BEST_FOR_MESSAGE]]


async def best_by_words(memories: Memories, clock: Clock, user_id: str, message: str) -> list[Found]:
    """Enough of the best for `first_memories`, in one round trip."""
    return await memories.search(user_id, message, None, _CONSIDERED, clock())


async def vector_or_none(embeddings: "Embeddings", logger: Logger, query: str) -> list[float] | None:
    try:
        [vector] = await embeddings.embed([query])
    except Unavailable:
        logger.warning(Event.SEARCH_WITHOUT_VECTORS)
        return None
    return vector


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
