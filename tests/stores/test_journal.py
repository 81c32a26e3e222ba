"""The journal of consolidations, and its memories in the meantime: per user, with only ids and numbers."""

from typing import Any

import pytest
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.memory import Memory, salience
from qwestly_agent.platform.collection import Document
from qwestly_agent.stores import memories as memories_
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.memory_work import (
    JOURNAL,
    RETENTION,
    YEAR,
    ConsolidationRun,
    Journal,
    Merges,
    ReplacedMemory,
    find_unfinished,
)
from tests.servers import USER

pytestmark = pytest.mark.anyio
NOW = 1_800_000_000.0


def planned(run_id: str = "night1", **more: Any) -> ConsolidationRun:
    replacements = (
        ReplacedMemory(gone="b", by="a", status="merged"),
        ReplacedMemory(gone="c", by="a", status="merged"),
        ReplacedMemory(gone="e", by="d", status="superseded"),
    )
    fields = {"user_id": USER, "run_id": run_id, "created": NOW, "replacements": replacements, "compared": ("a", "d")}
    return ConsolidationRun(**{**fields, **more})


@pytest.fixture
def journal(database: AsyncDatabase[Document]) -> Journal:
    return Journal(database)


@pytest.fixture
def memories(database: AsyncDatabase[Document]) -> Memories:
    return Memories.of(database)


@pytest.fixture
def merges(database: AsyncDatabase[Document]) -> Merges:
    return Merges(database)


async def remember(memories: Memories, id: str, content: str = "", user_id: str = USER, **more: Any) -> None:
    memory = Memory(id=id, type="fact", content=content or id, **more)
    assert await memories.add(user_id, memory, f"hash of {content or id}", [1.0, 0.5], NOW)


# --- the journal ------------------------------------------------------------------------------------------------------


async def test_a_run_is_planned_once_and_read_as_planned(journal: Journal) -> None:
    assert await journal.add(planned())
    assert not await journal.add(planned(replacements=()))
    assert await journal.get(USER, "night1") == planned()
    with pytest.raises(NotFound):
        await journal.get("auth0|stranger", "night1")


async def test_each_user_has_their_own_run_of_a_night(journal: Journal) -> None:
    assert await journal.add(planned())
    assert await journal.add(planned(user_id="auth0|stranger", left=3))
    assert [each.left for each in await journal.list_all(USER)] == [0]


async def test_a_users_runs_are_listed_oldest_first(journal: Journal) -> None:
    for run_id, created in (("night3", NOW + 2), ("night1", NOW), ("night2", NOW + 1)):
        await journal.add(planned(run_id, created=created))
    assert [each.run_id for each in await journal.list_all(USER)] == ["night1", "night2", "night3"]


async def test_memories_merged_into_one_are_kept_apart() -> None:
    assert planned().pairs_kept_apart == {frozenset(pair) for pair in ("ab", "ac", "bc", "de")}


async def test_an_ended_run_is_finished_and_drops_its_comparisons(journal: Journal) -> None:
    await journal.add(planned())
    assert find_unfinished(await journal.list_all(USER)) == planned()
    await journal.end(planned(), "applied", NOW)
    ended = await journal.get(USER, "night1")
    assert (ended.status, ended.compared) == ("applied", ())
    assert find_unfinished(await journal.list_all(USER)) is None


async def test_a_run_is_kept_for_a_year_and_an_undo_for_good(
    journal: Journal, database: AsyncDatabase[Document]
) -> None:
    await journal.add(planned())
    [document] = await database[JOURNAL].find().to_list()
    assert document["expires_at"] == to_datetime(NOW) + RETENTION
    await journal.end(planned(), "undone", NOW)
    [document] = await database[JOURNAL].find().to_list()
    assert "expires_at" not in document


# --- memories that are consolidated -----------------------------------------------------------------------------------


async def test_uncompared_memories_are_listed_with_vectors_oldest_first(
    memories: Memories, database: AsyncDatabase[Document], merges: Merges
) -> None:
    await remember(memories, "later", last_seen=NOW)
    await remember(memories, "first", last_seen=NOW - 9)
    await remember(memories, "of-another", user_id="auth0|stranger")
    await remember(memories, "waits", status="proposed")
    await database[memories_.COLLECTION].update_one({"_id": "later"}, {"$set": {"content_embedding": [0.5, 0.25]}})
    await database[memories_.COLLECTION].update_one({"_id": "first"}, {"$unset": {"content_embedding": ""}})
    found = await merges.list_new(USER, 9)
    assert [(memory.id, [*vector]) for memory, vector in found] == [("first", []), ("later", [0.5, 0.25])]
    assert len(await merges.list_new(USER, 1)) == 1
    await merges.mark_compared(USER, ["first"])
    assert [memory.id for memory, _ in await merges.list_new(USER, 9)] == ["later"]
    assert await merges.count_active(USER) == 2


async def test_an_inactive_memory_is_not_merged(memories: Memories, merges: Merges) -> None:
    await remember(memories, "goes")
    await memories.supersede(USER, "goes", "newer", NOW)
    await merges.replace(USER, "goes", "stays", "merged", "night1", NOW)
    assert (await memories.get(USER, "goes")).superseded_by == "newer"


@pytest.mark.parametrize("status", ["merged", "superseded"])
async def test_an_undone_merge_restores_the_replaced_memory(
    memories: Memories, database: AsyncDatabase[Document], status: str, merges: Merges
) -> None:
    await remember(memories, "goes")
    before = await database[memories_.COLLECTION].find_one({"_id": "goes"})
    await merges.replace(USER, "goes", "stays", status, "night1", NOW)
    assert not await merges.undo_replacement(USER, "goes", "stays", "night2")
    assert not await merges.undo_replacement(USER, "goes", "another", "night1")
    assert await merges.undo_replacement(USER, "goes", "stays", "night1")
    assert await database[memories_.COLLECTION].find_one({"_id": "goes"}) == before
    assert not await merges.undo_replacement(USER, "goes", "stays", "night1")


async def test_a_merged_count_is_added_once_despite_a_concurrent_reinforcement(
    memories: Memories, database: AsyncDatabase[Document], merges: Merges
) -> None:
    await remember(memories, "stays", importance=0.2, count=2, last_seen=NOW)
    await remember(memories, "goes", importance=0.7, count=3, last_seen=NOW - 9)
    await merges.absorb(USER, "stays", "goes")
    assert (await memories.get(USER, "stays")).count == 2, "nothing was merged into it"
    await merges.replace(USER, "goes", "stays", "merged", "night1", NOW)
    for _ in range(2):
        await merges.absorb(USER, "stays", "goes")
    await memories.reinforce(USER, "stays", ["c2:1"], NOW + 5)
    await merges.absorb(USER, "stays", "goes")
    stays = await memories.get(USER, "stays")
    assert (stays.count, stays.importance, stays.last_seen) == (6, 0.7, NOW + 5)
    document = await database[memories_.COLLECTION].find_one({"_id": "stays"}) or {}
    assert document["salience"] == pytest.approx(salience(0.7, NOW))


async def test_a_merged_memory_counts_as_long_as_its_replacement(memories: Memories, merges: Merges) -> None:
    for name in ("first", "second", "third"):
        await remember(memories, name)
    await merges.replace(USER, "first", "second", "merged", "night1", NOW)
    await merges.replace(USER, "second", "third", "merged", "night2", NOW)
    assert await merges.is_current(USER, "first", "night3")
    await merges.replace(USER, "third", "newer", "superseded", "night3", NOW)
    assert await merges.is_current(USER, "first", "night3"), "as far as this run goes"
    assert not await merges.is_current(USER, "first", "night4")
    assert not await merges.is_current("auth0|stranger", "first", "night3")


async def test_outdated_memories_are_marked_only_for_their_user(memories: Memories, merges: Merges) -> None:
    for user in (USER, "auth0|stranger"):
        await remember(memories, f"old of {user}", user_id=user, importance=0.1, last_seen=NOW)
    ids = [f"old of {USER}", "old of auth0|stranger"]
    assert await merges.list_outdated(USER, NOW + YEAR - 1) == []
    assert await merges.list_outdated(USER, NOW + YEAR) == ids[:1]
    await merges.mark_asked(USER, ids, NOW + YEAR)
    assert await merges.list_outdated(USER, NOW + YEAR) == []
    assert await merges.list_outdated("auth0|stranger", NOW + YEAR) == ids[1:]


async def test_users_with_news_are_listed_by_id_in_pages(
    memories: Memories, database: AsyncDatabase[Document], merges: Merges
) -> None:
    for user in ("u3", "u1", "u2", "u5", "u4"):
        await remember(memories, f"{user}-a", user_id=user)
        await remember(memories, f"{user}-b", user_id=user)
    await merges.mark_compared("u2", ["u2-a", "u2-b"])
    await memories.supersede("u4", "u4-a", "newer", NOW)
    await memories.supersede("u4", "u4-b", "newer", NOW)
    merges = Merges(database)
    assert await merges.list_due_users("", 2) == ["u1", "u3"]
    assert await merges.list_due_users("u3", 2) == ["u5"]
    assert await merges.list_due_users("u5", 2) == []
