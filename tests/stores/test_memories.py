"""Memories: the most salient first, active ones only, and vectors only for comparisons."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.memory import Memory, salience
from qwestly_agent.platform.collection import Document
from qwestly_agent.stores.memories import COLLECTION, Memories
from qwestly_agent.stores.memory_work import Unchecked
from qwestly_agent.stores.search import to_binary
from tests.servers import USER
from tests.stores.conftest import Replies, Sent

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


def a_memory(id: str, content: str) -> Memory:
    return Memory(id=id, type="fact", content=content)


@pytest.fixture
def memories(database: AsyncDatabase[Document]) -> Memories:
    return Memories.of(database)


async def ids(memories: Memories, limit: int = 20) -> list[str]:
    return [memory.id for memory in await memories.most_salient(USER, limit)]


async def test_the_most_salient_memories_come_first(memories: Memories, database: AsyncDatabase[Document]) -> None:
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


async def test_only_active_memories_of_the_user_are_read(memories: Memories, database: AsyncDatabase[Document]) -> None:
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
        assert [found.memory.id for found in await memories.search(USER, "trains", vector, 9, NOW)] == ["holds"]


async def test_a_session_start_reads_no_vectors(
    memories: Memories, database: AsyncDatabase[Document], sent: Sent
) -> None:
    await database[COLLECTION].insert_one(remembered("one"))
    await memories.most_salient(USER, 20)
    await memories.tombstones.last_withdrawn_at(USER)
    salient, withdrawn = sent.named("find")
    assert salient["projection"] == {"content_embedding": 0}
    assert withdrawn["projection"] == {"withdrawn_at": 1}
    assert list(salient["sort"].items()) == [("salience", -1)]
    assert [command["filter"]["user_id"] for command in (salient, withdrawn)] == [USER, USER]


async def test_a_memory_is_read_with_its_type_and_evidence(
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
    expected = Memory.model_validate(
        {"id": "one", "content": "one likes trains", "created_at": to_datetime(NOW), **more}
    )
    assert memory == expected


async def test_the_last_withdrawal_of_a_memory_is_found(memories: Memories, database: AsyncDatabase[Document]) -> None:
    assert await memories.tombstones.last_withdrawn_at(USER) is None
    await database[COLLECTION].insert_many(
        [
            remembered("active"),
            remembered("first", status="superseded", withdrawn_at=NOW - 60.0),
            remembered("last", status="forgotten", withdrawn_at=NOW - 0.25),
            remembered("strangers", status="forgotten", withdrawn_at=NOW, user_id="auth0|stranger"),
        ]
    )
    assert await memories.tombstones.last_withdrawn_at(USER) == NOW - 0.25


async def test_a_search_combines_words_and_meaning_and_breaks_ties_by_salience(
    memories: Memories, database: AsyncDatabase[Document]
) -> None:
    await database[COLLECTION].insert_many(
        [
            remembered("near", content="likes railways", content_embedding=to_binary([1.0, 0.0])),
            remembered("old", days_ago=900, content="likes trains", content_embedding=to_binary([0.8, 0.6])),
            remembered("said", content="likes trains", content_embedding=to_binary([0.8, 0.6])),
            remembered("vital", importance=1.0, content="has a dog", content_embedding=to_binary([0.0, 1.0])),
        ]
    )
    found = await memories.search(USER, "trains", [1.0, 0.0], 9, NOW)
    assert [each.memory.id for each in found] == ["said", "old", "near", "vital"]
    assert found[0].score.model_dump() == {"words": 1, "meaning": 2, "salience": 0.5, "total": 0.94}
    assert found[1].score.salience < 0.001
    by_words = await memories.search(USER, "trains", None, 9, NOW)
    assert [(each.memory.id, each.score.words, each.score.meaning) for each in by_words] == [
        ("said", 1, None),
        ("old", 2, None),
    ]


async def test_memories_found_by_words_have_their_similarity_in_meaning(
    memories: Memories, database: AsyncDatabase[Document]
) -> None:
    near = [a_memory(f"n{n}", f"owns a bike number {n}") for n in range(60)]
    for at, memory in enumerate(near):
        await memories.add(USER, memory, memory.id, [1.0, at / 100], NOW - 1)
    await memories.add(USER, a_memory("told", "plays the oboe"), "told", [-0.6, 0.8], NOW - 2)
    [found] = await memories.find_near(USER, [("used to play an oboe", [1.0, 0.0])], 5)
    assert len(found) == 5
    [told] = [each for each in found if each.memory.id == "told"]
    assert told.cosine == pytest.approx(-0.6)
    assert found[1].memory.id == "n0"


async def test_the_newest_memories_are_compared_even_if_not_yet_indexed(
    memories: Memories, database: AsyncDatabase[Document]
) -> None:
    await memories.add(USER, a_memory("mine", "likes trains"), "h1", [1.0, 0.0], NOW)
    await memories.add("auth0|stranger", a_memory("theirs", "likes trains"), "h1", [1.0, 0.0], NOW)

    async def knows_nothing(*_: object) -> list[list[tuple[Document, float]]]:
        return [[]]

    memories.searchable.nearest_to_each = knows_nothing  # type: ignore[method-assign]
    [near] = await memories.find_near(USER, [("trains", [1.0, 0.0])], 5)
    assert [(each.memory.id, each.cosine) for each in near] == [("mine", 1.0)]


async def test_a_memory_stored_concurrently_is_stored_once(memories: Memories) -> None:
    stored = await asyncio.gather(
        *(memories.add(USER, a_memory(f"m{n}", "likes trains"), "h1", [1.0, 0.0], NOW) for n in range(20))
    )
    assert sum(stored) == 1


@pytest.mark.thorough
async def test_a_session_start_reads_as_much_with_100_memories_as_with_thousands(
    memories: Memories, database: AsyncDatabase[Document], replies: Replies
) -> None:
    read = []
    for count in (100, 3_000):
        many = [remembered(f"{count}-{n:05}", importance=0.2, content="x" * 80) for n in range(count)]
        await database[COLLECTION].insert_many(many)
        replies.forget()
        await memories.most_salient(USER, 20)
        await memories.tombstones.last_withdrawn_at(USER)
        read.append((replies.documents, round(replies.bytes, -3)))
    assert read[0] == read[1]
    assert read[0][0] == 20


@pytest.mark.thorough
async def test_one_memory_is_found_without_reading_thousands_of_other_users(
    memories: Memories,
    database: AsyncDatabase[Document],
    replies: Replies,
    reads_of_others: Callable[[str], list[dict[str, Any]]],
) -> None:
    await database[COLLECTION].insert_many(
        [remembered(f"other-{n}", user_id=f"auth0|{n % 50}", content="likes trains") for n in range(3_000)]
    )
    await database[COLLECTION].insert_one(remembered("mine"))
    replies.forget()
    for vector in ([1.0, 0.0], None):
        assert [each.memory.id for each in await memories.search(USER, "trains", vector, 9, NOW)] == ["mine"]
    assert reads_of_others(USER) == []
    assert replies.documents == 4  # by meaning: to compare, its vector, and whole; by words: whole


@pytest.mark.parametrize(("status", "is_replaced"), [("unchecked", True), ("forgotten", False), ("superseded", False)])
async def test_a_judged_version_replaces_only_an_unchecked_memory(
    database: AsyncDatabase[Document], status: str, is_replaced: bool
) -> None:
    await database[COLLECTION].insert_one(remembered("lisbon", content="Lives in Lisbon.", status=status))
    before = await database[COLLECTION].find_one({"_id": "lisbon"})
    judged = a_memory("lisbon", "Lives in Lisbon, Portugal.")
    assert await Unchecked.of(database).replace_judged(USER, judged, "hash", [1.0, 0.0], ()) is is_replaced
    after = await database[COLLECTION].find_one({"_id": "lisbon"})
    assert after
    assert (after["status"], after["content"]) == (
        ("active", "Lives in Lisbon, Portugal.") if is_replaced else (status, "Lives in Lisbon.")
    )
    assert is_replaced or after == before
