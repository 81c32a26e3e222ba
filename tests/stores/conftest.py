"""The stores against the wire server, or against a real one: MONGODB_URI, in a database of each test's own."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from bson import encode
from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.monitoring import CommandListener, CommandStartedEvent, CommandSucceededEvent

from infra.mongo.indexes import INDEXES
from qwestly_agent.platform.collection import Document
from tests.mongo_rule import Watch, filter_of
from tests.servers import mongo_server


@pytest.fixture(scope="session")
def mongodb_uri() -> Iterator[str]:
    if given := os.environ.get("MONGODB_URI"):
        yield given
        return
    with mongo_server() as (uri, _):
        yield uri


class Sent(CommandListener):
    """The commands sent to the server."""

    def __init__(self) -> None:
        self.commands: list[dict[str, Any]] = []

    def started(self, event: CommandStartedEvent) -> None:
        self.commands.append(dict(event.command))

    def succeeded(self, event: Any) -> None:
        pass

    def failed(self, event: Any) -> None:
        pass

    def named(self, name: str) -> list[dict[str, Any]]:
        return [command for command in self.commands if next(iter(command)) == name]


class Replies(CommandListener):
    """Records the number of documents and bytes in the server's answers."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.documents = self.bytes = 0

    def started(self, event: CommandStartedEvent) -> None:
        pass

    def succeeded(self, event: CommandSucceededEvent) -> None:
        cursor = event.reply.get("cursor", {})
        found = [*cursor.get("firstBatch", ()), *cursor.get("nextBatch", ())]
        self.documents += len(found)
        self.bytes += sum(len(encode(each)) for each in found)

    def failed(self, event: Any) -> None:
        pass


@pytest.fixture
def sent() -> Sent:
    return Sent()


@pytest.fixture
def replies() -> Replies:
    return Replies()


@pytest.fixture
async def database(
    mongodb_uri: str, database_name: str, sent: Sent, replies: Replies, watch: Watch
) -> AsyncIterator[AsyncDatabase[Document]]:
    """A database with our indexes, as `apply` makes them."""
    async with AsyncMongoClient[Document](mongodb_uri, tz_aware=True, event_listeners=[sent, replies, watch]) as client:
        database = client[database_name]
        for collection, indexes in INDEXES.items():
            await database[collection].create_indexes(indexes)
        sent.commands.clear()
        yield database


@pytest.fixture
def reads_of_others(sent: Sent) -> Callable[[str], list[dict[str, Any]]]:
    """The reads that were not restricted to a user's own documents by an equality on `user_id`."""

    def others(user_id: str) -> list[dict[str, Any]]:
        return [command for command in sent.commands if _is_read(command) and _user_of(command) != user_id]

    return others


def _is_read(command: dict[str, Any]) -> bool:
    return next(iter(command)) in {"find", "aggregate", "count", "distinct", "findAndModify"}


def _user_of(command: dict[str, Any]) -> Any:
    if "pipeline" in command:
        return filter_of(command["pipeline"]).get("user_id")
    return (command.get("filter") or command.get("query") or {}).get("user_id")
