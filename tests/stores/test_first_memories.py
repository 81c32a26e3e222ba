"""The memories of a first prompt: the most salient, and the best matches of its message."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import cast

import pytest
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.base.errors import Unavailable
from qwestly_agent.domain.memory import Memory
from qwestly_agent.memory.find import EMBEDDING_SECONDS, MOST_SALIENT, best_by_words, first_memories
from qwestly_agent.platform.collection import Document
from qwestly_agent.services import ModelServices
from qwestly_agent.stores.memories import Memories
from tests.servers import USER

pytestmark = pytest.mark.anyio
NOW = 1_800_000_000.0
MEANT = [0.0, 1.0]


@dataclass
class Embeddings:
    answer: Callable[[], Awaitable[list[float]]]
    asked: list[str] = field(default_factory=list)
    cancelled: bool = False

    async def embed(self, texts: list[str]) -> list[list[float]]:
        self.asked += texts
        try:
            return [await self.answer()]
        except asyncio.CancelledError:
            self.cancelled = True
            raise


@dataclass
class Services:
    memories: Memories
    embeddings: Embeddings
    logger: logging.Logger = logging.getLogger("test")  # noqa: RUF009

    def clock(self) -> float:
        return NOW


async def never() -> list[float]:
    return await asyncio.Future()


async def at_once() -> list[float]:
    return MEANT


async def down() -> list[float]:
    raise Unavailable


@dataclass
class Sleep:
    """A sleep that ends at once, or never."""

    over: bool
    asked: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        if not self.over:
            await asyncio.Future()


@pytest.fixture
async def memories(database: AsyncDatabase[Document]) -> Memories:
    """Twenty salient memories, and two of little importance: one similar in words and one in meaning."""
    memories = Memories.of(database)
    for n in range(20):
        await memories.add(USER, a_memory(f"salient{n:02}", f"fact {n}", 1.0), f"h{n}", [1.0, 0.0], NOW - n)
    await memories.add(USER, a_memory("words", "plays the oboe", 0.01), "w", [1.0, 0.0], NOW)
    await memories.add(USER, a_memory("meaning", "performs in an orchestra", 0.01), "m", MEANT, NOW)
    return memories


def a_memory(memory_id: str, content: str, importance: float) -> Memory:
    return Memory(id=memory_id, type="fact", content=content, importance=importance)


async def first(
    memories: Memories, embeddings: Embeddings, sleep: Sleep, message: str = "My oboe is broken"
) -> list[str]:
    services = cast(ModelServices, Services(memories, embeddings))
    salient = await memories.most_salient(USER, MOST_SALIENT + 1)
    by_words = await best_by_words(services.memories, services.clock, USER, message)
    return [each.id for each in await first_memories(services, USER, message, salient, by_words, sleep=sleep)]


SALIENT = [f"salient{n:02}" for n in range(MOST_SALIENT)]


async def test_with_a_vector_in_time_the_best_memories_combine_words_and_meaning(memories: Memories) -> None:
    found = await first(memories, Embeddings(at_once), Sleep(over=False))
    assert found[:MOST_SALIENT] == SALIENT
    assert {"words", "meaning"} < {*found[MOST_SALIENT:]}
    assert len(found) == MOST_SALIENT + 5


@pytest.mark.parametrize(
    ("answer", "over"), [(never, True), (down, False)], ids=["the vector is late", "there is none"]
)
async def test_without_a_vector_the_best_memories_are_those_by_words(
    memories: Memories, answer: Callable[[], Awaitable[list[float]]], over: bool
) -> None:
    embeddings, sleep = Embeddings(answer), Sleep(over)
    assert await first(memories, embeddings, sleep) == [*SALIENT, "words"]
    assert sleep.asked == [EMBEDDING_SECONDS]
    assert embeddings.cancelled == (answer is never)


async def test_few_memories_are_all_read_without_an_embedding(
    memories: Memories, database: AsyncDatabase[Document]
) -> None:
    await database["user_memories"].delete_many({"user_id": USER, "importance": 1.0, "_id": {"$ne": "salient00"}})
    embeddings = Embeddings(at_once)
    assert {*await first(memories, embeddings, Sleep(over=False))} == {"salient00", "meaning", "words"}
    assert embeddings.asked == []
