"""Measure what a session start, a search and a night's consolidation read, by how much is remembered of a user.

Counted at the driver: documents and bytes that the database sent. One user has 100 to 100,000 memories, of which the
newest ten are new, and one has a single memory among 100,000 of others. A search compares a user's own vectors exactly
where the server has no vector index, as here, and so reads them, up to `EXACT_LIMIT`, their vectors once a process;
with one it reads what it gives back. A consolidation compares what is new with all that holds, and so reads that.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from pymongo import AsyncMongoClient

from benchmarks.figures import Row, Target
from infra.mongo.indexes import INDEXES
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.ranking import salience
from qwestly_agent.stores.memories import COLLECTION, Memories
from qwestly_agent.stores.merges import Merges
from qwestly_agent.stores.ranks import to_binary
from qwestly_agent.stores.search import Document
from tests.servers import mongo_server
from tests.stores.conftest import Replies

SIZES = (100, 1_000, 10_000, 100_000)
NEW = 10
NOW = 1_800_000_000.0
DIMENSIONS = 16
"""Few, so that a hundred thousand fit: of a session start none is sent, of a search each by itself costs its size."""


def measure() -> dict[str, Any]:
    return asyncio.run(_measure())


async def _measure() -> dict[str, Any]:
    sent, chance = Replies(), random.Random(1)  # noqa: S311
    with mongo_server() as (uri, _):
        async with AsyncMongoClient[Document](uri, tz_aware=True, event_listeners=[sent]) as client:
            database = client["qwestly_local_bench"]
            await database[COLLECTION].create_indexes(INDEXES[COLLECTION])
            memories = Memories.of(database)
            for size in (*SIZES, 1):  # all of them, so that each has the others beside it
                await _insert(database[COLLECTION], _memories_of(_user(size), size, chance))
            return {str(size): await _reads(sent, memories, _user(size)) for size in (1, *SIZES)}


def _user(size: int) -> str:
    return f"user-{size:06}"


def _memories_of(user_id: str, count: int, chance: random.Random) -> Iterator[Document]:
    for number in range(count):
        created = NOW - chance.random() * 86_400 * 365
        yield {
            "_id": f"{user_id}:{number:06}",
            "user_id": user_id,
            "type": "fact",
            "content": f"Likes train number {number:06}.",
            "quote": f"I like train number {number:06}",
            "status": "active",
            "key": f"{number:064}",
            "salience": salience(0.5, created),
            "created": created,
            "created_at": to_datetime(created),
            "consolidated": number < count - NEW,
            "content_embedding": to_binary([chance.gauss(0, 1) for _ in range(DIMENSIONS)]),
        }


async def _insert(collection: Any, documents: Iterator[Document]) -> None:
    batch: list[Document] = []
    for document in documents:
        batch.append(document)
        if len(batch) == 5_000:
            await collection.insert_many(batch)
            batch = []
    if batch:
        await collection.insert_many(batch)


async def _reads(sent: Replies, memories: Memories, user_id: str) -> dict[str, Any]:
    async def session_start() -> None:
        await memories.most_salient(user_id, 20)
        await memories.last_withdrawn(user_id)

    async def search() -> None:
        assert await memories.search(user_id, "train", [1.0] * DIMENSIONS, 10, NOW)

    async def consolidation() -> None:
        assert [held async for held, _ in Merges(memories.database).each_held(user_id)]

    works = {"session start": session_start, "search": search, "consolidation": consolidation}
    return {name: await _counted(sent, work) for name, work in works.items()}


async def _counted(sent: Replies, work: Callable[[], Awaitable[None]]) -> dict[str, int]:
    sent.forget()
    await work()
    return {"documents": sent.documents, "bytes": sent.bytes}


def rows(found: dict[str, Any]) -> Iterator[Row]:
    least, most = (found[str(size)]["session start"] for size in (SIZES[0], SIZES[-1]))
    for name in ("session start", "search", "consolidation"):
        for size in SIZES:
            grown = Target("of 100 memories", most["documents"] / least["documents"], at_most=1)
            target = grown if name == "session start" and size == SIZES[-1] else None
            yield Row(f"{name}, {size:,} memories", "documents", found[str(size)][name]["documents"], None, target)
    bytes_grown = Target("of 100 memories", most["bytes"] / least["bytes"], at_most=1.01)
    yield Row(f"session start, {SIZES[-1]:,} memories", "bytes", most["bytes"], None, bytes_grown)
    yield Row("search of a single memory among 100,000 of others", "documents", found["1"]["search"]["documents"])
