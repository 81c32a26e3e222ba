"""What a session start and a search read, by how much is remembered: documents and bytes that the database sent.

    PYTHONPATH=src:. python -m benchmarks.memory_reads

Counted at the driver, on the laptop's database: one user with 100 to 100,000 memories, and one with a single memory
among 100,000 of others. A session start must read the same at each size. A search compares a user's own vectors exactly
where the server has no vector index, and so reads them, up to `EXACT_LIMIT`; with one it reads what it gives back.
"""

import asyncio
import random
import time
from collections.abc import Iterator
from typing import Any

from pymongo import AsyncMongoClient

from infra.mongo.indexes import INDEXES
from qwestly_agent.clock import to_datetime
from qwestly_agent.memory.ranking import salience
from qwestly_agent.stores.memories import COLLECTION, Memories
from qwestly_agent.stores.search import Document, to_binary
from tests.servers import mongo_server
from tests.stores.conftest import Replies

SIZES = (100, 1_000, 10_000, 100_000)
NOW = 1_800_000_000.0
DIMENSIONS = 16
"""Few, so that a hundred thousand fit: of a session start none is sent, of a search each by itself costs its size."""


def memories_of(user_id: str, count: int, chance: random.Random) -> Iterator[Document]:
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
            "consolidated": True,
            "content_embedding": to_binary([chance.gauss(0, 1) for _ in range(DIMENSIONS)]),
        }


async def main() -> None:
    sent, chance = Replies(), random.Random(1)  # noqa: S311
    with mongo_server() as (uri, _):
        async with AsyncMongoClient[Document](uri, tz_aware=True, event_listeners=[sent]) as client:
            database = client["qwestly_local_bench"]
            await database[COLLECTION].create_indexes(INDEXES[COLLECTION])
            memories = Memories.of(database)
            for size in SIZES:  # so that each has all the others beside it
                await insert(database[COLLECTION], memories_of(f"user-{size}", size, chance))
            await insert(database[COLLECTION], memories_of("user-1", 1, chance))
            print(f"{'memories':>10} {'session start':>28} {'search':>28}   seconds each")
            for size in (1, *SIZES):
                start = await measured(sent, lambda size=size: session_start(memories, f"user-{size}"))
                search = await measured(sent, lambda size=size: searched(memories, f"user-{size}"))
                seconds = f"{start[2]:.3f} {search[2]:.3f}"
                print(f"{size:>10,} {shown(start):>28} {shown(search):>28}   {seconds}", flush=True)


async def insert(collection: Any, documents: Iterator[Document]) -> None:
    batch: list[Document] = []
    for document in documents:
        batch.append(document)
        if len(batch) == 5_000:
            await collection.insert_many(batch)
            batch = []
    if batch:
        await collection.insert_many(batch)


async def session_start(memories: Memories, user_id: str) -> None:
    await memories.most_salient(user_id, 20)
    await memories.last_withdrawn(user_id)


async def searched(memories: Memories, user_id: str) -> None:
    found = await memories.search(user_id, "train", [1.0] * DIMENSIONS, 10, NOW)
    assert found


async def measured(sent: Replies, work: Any) -> tuple[int, int, float]:
    sent.forget()
    begun = time.perf_counter()
    await work()
    return sent.documents, sent.bytes, time.perf_counter() - begun


def shown(read: tuple[int, int, float]) -> str:
    return f"{read[0]:,} documents, {read[1] / 1000:,.1f} kB"


if __name__ == "__main__":
    asyncio.run(main())
