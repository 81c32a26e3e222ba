"""What a consolidation merged, and how its memories look meanwhile: each user's own, ids and numbers alone."""

from typing import Any

import pytest
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.clock import to_datetime
from qwestly_agent.errors import NotFound
from qwestly_agent.memory.model import Memory
from qwestly_agent.stores import memories as memories_
from qwestly_agent.stores.journal import COLLECTION, RETENTION, Change, Journal, Merged, Run, unfinished
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.sweeps import Sweeps
from tests.servers import USER
from tests.stores.conftest import Sent

pytestmark = pytest.mark.anyio
NOW = 1_800_000_000.0
CHANGE = Change(count=2, seen=("c1:1",), last_seen=(1.0, 2.0), importance=(0.5, 0.7), salience=3.0)


def planned(run_id: str = "night1", **more: Any) -> Run:
    merges = (Merged(survivor="a", members=("b", "c")), Merged(survivor="d", members=("e",)))
    return Run(**{"user_id": USER, "run_id": run_id, "created": NOW, "merges": merges, "looked_at": ("a", "d"), **more})


@pytest.fixture
def journal(database: AsyncDatabase[Document]) -> Journal:
    return Journal(database)


@pytest.fixture
def memories(database: AsyncDatabase[Document]) -> Memories:
    return Memories.of(database)


async def remember(memories: Memories, id: str, content: str = "", user_id: str = USER, **more: Any) -> None:
    memory = Memory(id=id, type="fact", content=content or id, **more)
    assert await memories.add(user_id, memory, f"hash of {content or id}", [1.0, 0.5], NOW)


# --- the journal ------------------------------------------------------------------------------------------------------


async def test_a_run_is_planned_once_and_read_as_it_was_planned(journal: Journal) -> None:
    assert await journal.add(planned())
    assert not await journal.add(planned(merges=()))
    assert await journal.get(USER, "night1") == planned()
    with pytest.raises(NotFound):
        await journal.get("auth0|stranger", "night1")


async def test_users_have_each_a_run_of_the_same_night(journal: Journal) -> None:
    assert await journal.add(planned())
    assert await journal.add(planned(user_id="auth0|stranger", left=3))
    assert [each.left for each in await journal.all(USER)] == [0]


async def test_the_runs_of_a_user_come_oldest_first(journal: Journal) -> None:
    for run_id, created in (("night3", NOW + 2), ("night1", NOW), ("night2", NOW + 1)):
        await journal.add(planned(run_id, created=created))
    assert [each.run_id for each in await journal.all(USER)] == ["night1", "night2", "night3"]


async def test_what_is_done_to_a_memory_is_written_down_beside_its_merge(journal: Journal) -> None:
    await journal.add(planned())
    await journal.keep_change(USER, "night1", 1, CHANGE)
    run = await journal.get(USER, "night1")
    assert (run.change_of("a"), run.change_of("d"), run.change_of("e")) == (None, CHANGE, None)


async def test_a_run_that_ended_is_finished_and_forgets_what_it_looked_at(journal: Journal) -> None:
    await journal.add(planned())
    assert unfinished(await journal.all(USER)) == planned()
    await journal.end(USER, "night1", "applied")
    ended = await journal.get(USER, "night1")
    assert (ended.status, ended.looked_at) == ("applied", ())
    assert unfinished(await journal.all(USER)) is None


async def test_a_run_is_kept_for_a_year_and_what_was_undone_for_good(
    journal: Journal, database: AsyncDatabase[Document]
) -> None:
    await journal.add(planned())
    [document] = await database[COLLECTION].find().to_list()
    assert document["expires_at"] == to_datetime(NOW) + RETENTION
    await journal.end(USER, "night1", "undone")
    [document] = await database[COLLECTION].find().to_list()
    assert "expires_at" not in document


# --- memories that are consolidated -----------------------------------------------------------------------------------


async def test_what_holds_is_read_in_one_pass_with_its_vector(memories: Memories, sent: Sent) -> None:
    await remember(memories, "one", "likes trains", importance=0.4, sensitive=True)
    await remember(memories, "of-another", user_id="auth0|stranger")
    await remember(memories, "waits", status="proposed")
    await memories.looked_at(USER, ["waits"])
    sent.commands.clear()
    [(held, vector)] = [each async for each in memories.each_held(USER)]
    assert (held.id, held.content, held.new, held.sensitive, held.created) == ("one", "likes trains", True, True, NOW)
    assert memoryview(vector).cast("f").tolist() == [1.0, 0.5]
    assert len(sent.named("find")) == 1
    await memories.looked_at(USER, ["one"])
    assert [each.new async for each, _ in memories.each_held(USER)] == [False]


async def test_vectors_of_the_old_kind_and_none_at_all_are_read_too(
    memories: Memories, database: AsyncDatabase[Document]
) -> None:
    old = {"user_id": USER, "type": "fact", "content": "x", "status": "active", "created_at": to_datetime(NOW)}
    await database[memories_.COLLECTION].insert_one({**old, "_id": "list", "content_embedding": [0.5, 0.25]})
    await database[memories_.COLLECTION].insert_one({**old, "_id": "none"})
    found = {held.id: (held, vector) async for held, vector in memories.each_held(USER)}
    assert memoryview(found["list"][1]).cast("f").tolist() == [0.5, 0.25]
    assert found["none"][1] == b""
    assert (found["none"][0].created, found["none"][0].new) == (NOW, False)


async def test_a_memory_that_is_merged_says_by_what_and_leaves_its_words_free(memories: Memories) -> None:
    await remember(memories, "stays", "likes trains a lot")
    await remember(memories, "goes", "likes trains")
    await memories.merge(USER, "goes", "stays", "night1", NOW + 60)
    gone = await memories.get(USER, "goes")
    assert (gone.status, gone.superseded_by, gone.superseded_at) == ("merged", "stays", NOW + 60)
    assert gone.content == "likes trains"
    assert await memories.last_withdrawn(USER) == NOW + 60
    assert await memories.of_hashes(USER, ["hash of likes trains"]) == {}
    await remember(memories, "told-again", "likes trains")


async def test_what_does_not_hold_is_not_merged(memories: Memories) -> None:
    await remember(memories, "goes")
    await memories.supersede(USER, "goes", "newer", NOW)
    await memories.merge(USER, "goes", "stays", "night1", NOW)
    assert (await memories.get(USER, "goes")).status == "superseded"


async def test_what_was_merged_holds_again_as_it_was(memories: Memories, database: AsyncDatabase[Document]) -> None:
    await remember(memories, "goes")
    before = await database[memories_.COLLECTION].find_one({"_id": "goes"})
    await memories.merge(USER, "goes", "stays", "night1", NOW)
    assert not await memories.part(USER, "goes", "stays", "night2")
    assert not await memories.part(USER, "goes", "another", "night1")
    assert await memories.part(USER, "goes", "stays", "night1")
    after = await database[memories_.COLLECTION].find_one({"_id": "goes"})
    assert before
    assert after == {**before, "consolidated": True}
    assert not await memories.part(USER, "goes", "stays", "night1")


async def test_what_was_told_anew_since_is_not_there_twice(memories: Memories) -> None:
    await remember(memories, "goes", "likes trains")
    await memories.merge(USER, "goes", "stays", "night1", NOW)
    await remember(memories, "told-again", "likes trains")
    assert not await memories.part(USER, "goes", "stays", "night1")
    gone = await memories.get(USER, "goes")
    assert (gone.status, gone.superseded_by) == ("merged", "told-again")


async def test_numbers_are_taken_in_once_and_not_over_a_reinforcement(memories: Memories) -> None:
    await remember(memories, "stays")
    known = (await memories.standing(USER, ["stays"]))["stays"]
    await memories.reinforce(USER, "stays", ["c2:1"], NOW + 5)
    assert not await memories.take_in(USER, "stays", "night1", known, count=9)
    known = (await memories.standing(USER, ["stays"]))["stays"]
    assert await memories.take_in(USER, "stays", "night1", known, count=9)
    known = (await memories.standing(USER, ["stays"]))["stays"]
    assert not await memories.take_in(USER, "stays", "night1", known, count=99)
    assert (known.count, known.took_in) == (9, ("night1",))
    assert not await memories.give_back(USER, "stays", "night2", known, count=0)
    assert await memories.give_back(USER, "stays", "night1", known, count=2)
    known = (await memories.standing(USER, ["stays"]))["stays"]
    assert (known.count, known.took_in) == (2, ())
    assert not await memories.give_back(USER, "stays", "night1", known, count=0)


async def test_a_memory_from_before_there_were_counts_was_said_once(
    memories: Memories, database: AsyncDatabase[Document]
) -> None:
    await database[memories_.COLLECTION].insert_one({"_id": "old", "user_id": USER, "status": "active"})
    known = (await memories.standing(USER, ["old"]))["old"]
    assert known.count == 1
    assert await memories.take_in(USER, "old", "night1", known, count=2)


async def test_who_has_something_new_is_found_by_id_a_page_at_a_time(
    memories: Memories, database: AsyncDatabase[Document]
) -> None:
    for user in ("u3", "u1", "u2", "u5", "u4"):
        await remember(memories, f"{user}-a", user_id=user)
        await remember(memories, f"{user}-b", user_id=user)
    await memories.looked_at("u2", ["u2-a", "u2-b"])
    await memories.supersede("u4", "u4-a", "newer", NOW)
    await memories.supersede("u4", "u4-b", "newer", NOW)
    sweeps = Sweeps(database)
    assert await sweeps.users_to_consolidate("", 2) == ["u1", "u3"]
    assert await sweeps.users_to_consolidate("u3", 2) == ["u5"]
    assert await sweeps.users_to_consolidate("u5", 2) == []
