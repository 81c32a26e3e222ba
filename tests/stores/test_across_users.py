"""Queries across users are marked as such, and use an index."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from types import CodeType
from typing import Any

import pytest
from pymongo.asynchronous.database import AsyncDatabase

from infra.mongo.indexes import INDEXES
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.platform.collection import Document
from qwestly_agent.stores import approvals
from qwestly_agent.stores.memory_work import Merges
from qwestly_agent.stores.runs import Sweeps
from qwestly_agent.stores.usage import Usage
from tests import mongo_rule
from tests.mongo_rule import Watch, methods_across_users
from tests.stores.conftest import Sent

pytestmark = pytest.mark.anyio

NOW = 1_800_000_000.0

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

CALLS: Mapping[str, Callable[[Any], Awaitable[Any]]] = {
    "Activity.list_copied": lambda store: store.list_copied(EPOCH, EPOCH, 10),
    "Answers.list_since": lambda store: store.list_since(0.0),
    "Applications.backlog": lambda store: store.backlog(NOW),
    "Applications.list_due": lambda store: store.list_due(0, NOW, 10),
    "Approvals.backlog": lambda store: store.backlog(NOW),
    "Approvals.count_by_user": lambda store: store.count_by_user("t1:0:brief"),
    "Approvals.find_by_link": lambda store: store.find_by_link("hash"),
    "Approvals.list_due": lambda store: store.list_due(0, NOW, 10),
    "Approvals.oldest_pending": lambda store: store.oldest_pending(),
    "BriefingPlans.backlog": lambda store: store.backlog(NOW),
    "BriefingPlans.list_due": lambda store: store.list_due(0, NOW, 10),
    "Briefings.find_user_by_token": lambda store: store.find_user_by_token("hash"),
    "Conversations.count_by_variant": lambda store: store.count_by_variant(),
    "JobSearches.backlog": lambda store: store.backlog(NOW),
    "JobSearches.list_due": lambda store: store.list_due(0, NOW, 10, ["a"]),
    "Journal.list_undoing": lambda store: store.list_undoing(10),
    "Memories.list_users_without_stems": lambda store: store.list_users_without_stems(),
    "Merges.backlog": lambda store: store.backlog(),
    "Merges.list_due_users": lambda store: store.list_due_users("a", 10, "b"),
    "Signals.list_braked": lambda store: store.list_braked(),
    "Sweeps.list_uncopied": lambda store: store.list_uncopied(10),
    "Sweeps.running_work": lambda store: store.running_work(EVERYBODY, NOW),
    "Sweeps.stopped_work": lambda store: store.stopped_work(EVERYBODY, ["run1"], NOW),
    "Usage.stage_spent_today": lambda store: store.stage_spent_today(NOW),
    "UserSettingsStore.count_pinned": lambda store: store.count_pinned(),
    "VariantCounts.by_user": lambda store: store.by_user("t1:0:brief"),
    "VariantCounts.sums": lambda store: store.sums(["t1:0:brief"]),
    "Watermarks.backlog": lambda store: store.backlog(NOW),
    "Watermarks.list_due": lambda store: store.list_due(0, NOW, 10, ["a"]),
    "Watermarks.list_quarantined": lambda store: store.list_quarantined(10),
}
MARKED = {f"{kind.__name__}.{method.__name__}": kind for kind, method in methods_across_users()}


def test_every_method_that_reads_across_users_is_tested() -> None:
    assert set(CALLS) == {name for name in MARKED if "._" not in name}


SCANS = {"Answers.list_since", "Memories.list_users_without_stems", "UserSettingsStore.count_pinned"}
"""A day's answers, read once a night; operators' commands: one run once after an update, one in the table of a
trial."""


@pytest.mark.parametrize("name", ["Answers.list_since", "Sweeps.running_work", "Watermarks.backlog"])
async def test_an_unmarked_query_across_users_is_refused(
    database: AsyncDatabase[Document], watch: Watch, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    await CALLS[name](MARKED[name].of(database))
    assert watch.complaints() == []
    monkeypatch.setattr(mongo_rule, "ACROSS_USERS", set[CodeType]())
    await CALLS[name](MARKED[name].of(database))
    assert watch.complaints()


async def test_a_callers_across_users_mark_does_not_extend_to_gathered_tasks(
    database: AsyncDatabase[Document], watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mongo_rule, "ACROSS_USERS", {Sweeps.running_work.__code__})
    await Sweeps(database).running_work(EVERYBODY, NOW)
    assert len(watch.complaints()) == 3


@pytest.mark.parametrize("name", sorted(CALLS.keys() - SCANS))
async def test_a_query_across_users_is_served_by_an_index(
    database: AsyncDatabase[Document], sent: Sent, name: str
) -> None:
    # Something is due, so that the oldest due item is looked up.
    await database[approvals.COLLECTION].insert_one({"_id": "a", "user_id": "u", "due_at": 1.0, "links": []})
    await database["agent_conversations"].insert_one({"_id": "u:c", "id": "c", "user_id": "u", **SILENT})
    await database["user_memories"].insert_one({"_id": "m", "user_id": "u", "created": 1.0, **NEW})
    await database["agent_settings"].insert_one({"_id": "u", "user_id": "u", "briefing_at": 1.0})
    await database["agent_applications"].insert_one({"_id": "s", "user_id": "u", "due_at": 1.0})
    sent.commands.clear()
    await CALLS[name](MARKED[name].of(database))
    assert sent.commands
    assert [each for each in sent.commands if not is_served(each)] == []


SILENT = {"extract_at": 1.0, "lease_until": 0}
NEW = {"consolidated": False, "status": "active"}


def is_served(command: Mapping[str, Any]) -> bool:
    """True if an index, or `_id`, serves the filter and the order."""
    name, collection = next(iter(command.items()))
    match name:
        case "find":
            chosen, order = command["filter"], list(command.get("sort", {}))
        case "aggregate":  # how the driver counts
            chosen, order = command["pipeline"][0]["$match"], []
        case _:
            chosen, order = command["updates"][0]["q"], []
    keys = [["_id"], *(list(index.document["key"]) for index in INDEXES.get(collection, ()))]
    return any(_serves(key, chosen, order) for key in keys)


def _serves(key: list[str], chosen: Mapping[str, Any], order: list[str]) -> bool:
    equal = {name for name, value in chosen.items() if not isinstance(value, Mapping) or "$in" in value}
    prefix = 0
    while prefix < len(key) and key[prefix] in equal:
        prefix += 1
    rest = key[prefix:]
    if order:
        return rest[: len(order)] == order and (prefix > 0 or order[0] in chosen)
    return prefix > 0 or (bool(rest) and rest[0] in chosen)


def test_the_check_detects_a_query_without_an_index() -> None:
    assert not is_served({"find": approvals.COLLECTION, "filter": {"tool": "x"}})
    assert not is_served({"find": approvals.COLLECTION, "filter": {"due_at": {"$gt": 0}}, "sort": {"created_at": 1}})
    assert is_served({"find": approvals.COLLECTION, "filter": {"due_at": {"$gt": 0}}, "sort": {"due_at": 1}})


async def test_due_users_are_listed_in_id_ranges_however_many_memories_each_has(
    database: AsyncDatabase[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwestly_agent.stores.memory_work.HELD_AT_ONCE", 2)
    told = [{"_id": f"{user}{n}", "user_id": user, "key": f"{user}{n}", **NEW} for user in "abcd" for n in range(3)]
    await database["user_memories"].insert_many(told)
    merges = Merges(database)
    assert await merges.list_due_users("", 10) == ["a", "b", "c", "d"]
    assert await merges.list_due_users("a", 2) == ["b", "c"]
    assert await merges.list_due_users("", 10, "b") == ["a", "b"]


async def test_todays_spending_of_all_users_excludes_other_days(database: AsyncDatabase[Document]) -> None:
    usage = Usage(database)
    assert await usage.stage_spent_today(NOW) == 0.0
    for user_id, cost_usd, at in (
        ("a", 0.5, NOW),
        ("b", 0.25, NOW),
        ("b", 8.0, NOW - 86_400),
        ("c", 4.0, NOW - 86_400),
    ):
        await usage.ensure_document(user_id, at)
        await usage.add_spending(user_id, {"cost_usd": cost_usd}, at)
    await usage.add_spending("b", {"cost_usd": 0.125}, NOW)
    await usage.ensure_document("d", NOW)
    assert await usage.stage_spent_today(NOW) == 0.875


async def test_a_turn_that_cannot_be_counted_is_refused(database: AsyncDatabase[Document]) -> None:
    await database["agent_usage"].insert_one({"_id": "a", "user_id": "b"})
    with pytest.raises(Unavailable):
        await Usage(database).begin_turn("a", "run", NOW)
