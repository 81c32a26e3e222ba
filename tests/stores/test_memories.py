"""What is remembered: the most salient first, only what holds, and no vectors where none are compared."""

from typing import Any

import pytest
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.clock import to_datetime
from qwestly_agent.memory.model import Memory
from qwestly_agent.memory.ranking import salience
from qwestly_agent.stores.memories import COLLECTION, Memories
from qwestly_agent.stores.search import Document, to_binary
from tests.servers import USER
from tests.stores.conftest import Sent

pytestmark = pytest.mark.anyio
NOW = 1_800_000_000.0
DAY = 86_400


def remembered(id: str, *, importance: float = 0.5, days_ago: float = 0, user_id: str = USER, **more: Any) -> Document:
    said_at = NOW - days_ago * DAY
    return {
        "_id": id,
        "user_id": user_id,
        "type": "fact",
        "content": f"{id} likes trains",
        "status": "active",
        "salience": salience(importance, said_at),
        "content_embedding": to_binary([1.0, 0.0]),
        "created_at": to_datetime(said_at),
        **more,
    }


@pytest.fixture
def memories(database: AsyncDatabase[Document]) -> Memories:
    return Memories.of(database)


async def ids(memories: Memories, limit: int = 20) -> list[str]:
    return [memory.id for memory in await memories.most_salient(USER, limit)]


async def test_the_most_salient_come_first(memories: Memories, database: AsyncDatabase[Document]) -> None:
    await database[COLLECTION].insert_many(
        [
            remembered("old", importance=0.5, days_ago=200),
            remembered("vital", importance=1.0, days_ago=30),
            remembered("trifle", importance=0.05),
            remembered("new", importance=0.5),
        ]
    )
    assert await ids(memories) == ["vital", "new", "old", "trifle"]
    assert await ids(memories, limit=2) == ["vital", "new"]


async def test_only_what_holds_is_remembered(memories: Memories, database: AsyncDatabase[Document]) -> None:
    await database[COLLECTION].insert_many(
        [
            remembered("holds"),
            remembered("proposed", status="proposed"),
            remembered("superseded", status="superseded"),
            remembered("forgotten", status="forgotten"),
            remembered("somebody-elses", user_id="auth0|stranger"),
        ]
    )
    assert await ids(memories) == ["holds"]
    for vector in ([1.0, 0.0], None):
        assert [memory.id for memory in await memories.search(USER, "trains", vector, 9)] == ["holds"]


async def test_a_session_start_reads_no_vectors(
    memories: Memories, database: AsyncDatabase[Document], sent: Sent
) -> None:
    await database[COLLECTION].insert_one(remembered("one"))
    await memories.most_salient(USER, 20)
    await memories.last_withdrawn(USER)
    salient, withdrawn = sent.named("find")
    assert salient["projection"] == {"content_embedding": 0}
    assert withdrawn["projection"] == {"withdrawn_at": 1}
    assert list(salient["sort"].items()) == [("salience", -1)]
    assert [command["filter"]["user_id"] for command in (salient, withdrawn)] == [USER, USER]


async def test_a_memory_says_what_it_is_and_what_it_rests_on(
    memories: Memories, database: AsyncDatabase[Document]
) -> None:
    more = {
        "type": "goal",
        "trust": "inferred",
        "confidence": 0.7,
        "quote": "lead a team",
        "valid_from": to_datetime(NOW),
    }
    await database[COLLECTION].insert_one(remembered("one", **more))
    [memory] = await memories.most_salient(USER, 1)
    expected = Memory.model_validate({"id": "one", "content": "one likes trains", **more})
    assert memory == expected


async def test_the_last_withdrawal_is_told_whoever_was_active_since(
    memories: Memories, database: AsyncDatabase[Document]
) -> None:
    assert await memories.last_withdrawn(USER) is None
    await database[COLLECTION].insert_many(
        [
            remembered("active"),
            remembered("first", status="superseded", withdrawn_at=NOW - 60.0),
            remembered("last", status="forgotten", withdrawn_at=NOW - 0.25),
            remembered("strangers", status="forgotten", withdrawn_at=NOW, user_id="auth0|stranger"),
        ]
    )
    assert await memories.last_withdrawn(USER) == NOW - 0.25
