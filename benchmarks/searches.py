"""Measure the time of a search in one user's memories on the local database, which has no search indexes.

By words and by meaning over all of them, in this process: the first search reads the vectors, the others use cached
ones.
"""

import asyncio
import random
import statistics
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from pymongo import AsyncMongoClient

from benchmarks.figures import Row, Target
from infra.mongo.indexes import INDEXES
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.memory import salience
from qwestly_agent.llm.embeddings import DIMENSIONS
from qwestly_agent.platform.collection import Document
from qwestly_agent.stores.memories import COLLECTION, Memories
from qwestly_agent.stores.search import to_binary
from tests.servers import USER, mongo_server

SIZES = (2_000, 10_000)
TARGET_SIZE, TARGET_MS = 2_000, 300
SEARCHES = 11
NOW = 1_800_000_000.0
WORDS = 3_000
"""Size of the vocabulary of memories; the first words are by far the most frequent."""


def measure() -> dict[str, Any]:
    return asyncio.run(_measure())


async def _measure() -> dict[str, Any]:
    chance, found = random.Random(1), dict[str, Any]()  # noqa: S311
    with mongo_server() as (uri, _):
        async with AsyncMongoClient[Document](uri, tz_aware=True) as client:
            for size in SIZES:
                database = client[f"qwestly_local_bench_{size}"]
                await database[COLLECTION].create_indexes(INDEXES[COLLECTION])
                documents = _memories_of(USER, size, chance)
                while batch := [*islice(documents, 1_000)]:
                    await database[COLLECTION].insert_many(batch)
                memories = Memories.of(database)
                times = [await _timed(memories, chance) for _ in range(SEARCHES)]
                kept = memories.searchable.cache.size / 1e6
                found[str(size)] = {"first": times[0], "cached": times[1:], "kept_mb": kept}
    return found


def _memories_of(user_id: str, count: int, chance: random.Random) -> Iterator[Document]:
    for number in range(count):
        created = NOW - chance.random() * 86_400 * 365
        content = _text(chance, 12)
        yield {
            "_id": f"{user_id}:{number:06}",
            "user_id": user_id,
            "type": "fact",
            "content": content,
            "quote": content,
            "status": "active",
            "key": f"{number:064}",
            "hash": f"{number:064}",
            "seen": [f"msg_{number:032}"],
            "source": {"conversation_id": f"{number:032}", "message_ids": [f"msg_{number:032}"]},
            "salience": salience(0.5, created),
            "created": created,
            "created_at": to_datetime(created),
            "content_embedding": to_binary(_vector(chance)),
        }


def _text(chance: random.Random, words: int) -> str:
    return " ".join(f"word{int(WORDS * chance.random() ** 3)}" for _ in range(words))


def _vector(chance: random.Random) -> list[float]:
    return [chance.gauss(0, 1) for _ in range(DIMENSIONS)]


async def _timed(memories: Memories, chance: random.Random) -> float:
    """Milliseconds."""
    words, vector = _text(chance, 8), _vector(chance)
    began = time.perf_counter()
    found = await memories.search(USER, words, vector, 10, NOW)
    took = 1_000 * (time.perf_counter() - began)
    assert len(found) == 10
    return took


def rows(found: dict[str, Any]) -> Iterator[Row]:
    for size in SIZES:
        cached = statistics.median(found[str(size)]["cached"])
        target = Target("ms", cached, at_most=TARGET_MS) if size == TARGET_SIZE else None
        yield Row(f"first search, {size:,} memories", "ms", found[str(size)]["first"])
        yield Row(f"search, {size:,} memories", "ms", cached, None, target)
        yield Row(f"kept in the process, {size:,} memories", "MB", found[str(size)]["kept_mb"])
