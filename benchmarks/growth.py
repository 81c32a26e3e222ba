"""A turn on the laptop's database, before and after 5,000 conversations of the same user."""

import asyncio
import tempfile
from collections.abc import Iterator
from statistics import median
from typing import Any

import httpx2
from pymongo import MongoClient

from benchmarks.figures import Row, Target
from benchmarks.servers import USERS, Server, ask, client, ours, world
from infra.local.environment import DEMO_DATABASE
from qwestly_agent.stores import tool_calls
from qwestly_agent.stores.conversations import COLLECTION as CONVERSATIONS
from qwestly_agent.stores.messages import COLLECTION as MESSAGES
from qwestly_agent.stores.search import Document

CONVERSATIONS_BEFORE = 5_000
TURNS = 15
USER = USERS[0]
AT_A_TIME = 500


def measure() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as data, world(data) as stack, ours(stack) as server:
        stack.set_pace(0)
        first = asyncio.run(_turns(server))
        with MongoClient[Document](stack.mongodb_uri) as mongo:
            for name in (CONVERSATIONS, MESSAGES, tool_calls.COLLECTION):
                _multiply(mongo[DEMO_DATABASE][name], CONVERSATIONS_BEFORE // TURNS)
            before = mongo[DEMO_DATABASE][CONVERSATIONS].count_documents({"user_id": USER})
        return {"conversations": before, "first": first, "later": asyncio.run(_turns(server))}


async def _turns(server: Server) -> float:
    """Median length of a turn in a new conversation, in seconds, after one that warms up."""
    async with client() as http:
        return median([await _turn(http, server) for _ in range(TURNS + 1)][1:])


async def _turn(http: httpx2.AsyncClient, server: Server) -> float:
    return (await ask(http, server, USER)).whole


def _multiply(collection: Any, times: int) -> None:
    """Add copies of the user's documents, each with ids of its own."""
    found = list(collection.find({"user_id": USER}))
    copies = [_copy(each, number) for number in range(times) for each in found]
    for start in range(0, len(copies), AT_A_TIME):
        collection.insert_many(copies[start : start + AT_A_TIME])


def _copy(document: Document, number: int) -> Document:
    ids = {"_id": f"{document['_id']}-{number}"}
    for name in ("id", "conversation_id", "run_id"):
        if document.get(name):
            ids[name] = f"{document[name]}-{number}"
    return {**document, **ids}


def rows(found: dict[str, Any]) -> Iterator[Row]:
    yield Row("a turn of a user with few conversations", "ms", found["first"] * 1000)
    grown = Target("of the first", found["later"] / found["first"], at_most=2)
    yield Row(f"after {found['conversations']:,} conversations", "ms", found["later"] * 1000, None, grown)
