"""Sweeps read by an index, and go on where the last one ended."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from pymongo.asynchronous.database import AsyncDatabase

from infra.mongo.indexes import INDEXES
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.platform.collection import Document
from qwestly_agent.stores import approvals
from qwestly_agent.stores.due import Sweeps
from qwestly_agent.stores.usage import Usage
from tests.stores.conftest import Sent

pytestmark = pytest.mark.anyio

NOW = 1_800_000_000.0

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

CALLS: Mapping[str, Callable[[Sweeps], Awaitable[Any]]] = {
    "running_work": lambda sweeps: sweeps.running_work(EVERYBODY, NOW),
    "stopped_work": lambda sweeps: sweeps.stopped_work(EVERYBODY, ["run1"], NOW),
    "planned_briefing": lambda sweeps: sweeps.planned_briefing("u"),
    "braked_users": lambda sweeps: sweeps.braked_users(),
    "position": lambda sweeps: sweeps.position("approvals"),
    "save_position": lambda sweeps: sweeps.save_position("approvals", NOW),
    "clear_position_at": lambda sweeps: sweeps.clear_position_at("u"),
    "due_approvals": lambda sweeps: sweeps.due_approvals(0, NOW, 10),
    "list_uncopied": lambda sweeps: sweeps.list_uncopied(10),
    "approvals_left": lambda sweeps: sweeps.approvals_left(NOW),
    "oldest_pending_approval": lambda sweeps: sweeps.oldest_pending_approval(),
    "silent_conversations": lambda sweeps: sweeps.silent_conversations(NOW, 10),
    "conversations_left": lambda sweeps: sweeps.conversations_left(NOW),
    "list_quarantined": lambda sweeps: sweeps.list_quarantined(10),
    "users_to_consolidate": lambda sweeps: sweeps.users_to_consolidate("a", 10, "b"),
    "memories_left": lambda sweeps: sweeps.memories_left(),
    "users_without_words": lambda sweeps: sweeps.users_without_words(),
    "due_briefings": lambda sweeps: sweeps.due_briefings(NOW, 10),
    "briefings_left": lambda sweeps: sweeps.briefings_left(NOW),
    "due_applications": lambda sweeps: sweeps.due_applications(NOW, 10),
    "steps_left": lambda sweeps: sweeps.steps_left(NOW),
    "due_job_searches": lambda sweeps: sweeps.due_job_searches(0, NOW, 10, ["a"]),
    "job_searches_left": lambda sweeps: sweeps.job_searches_left(NOW),
    "conversations_by_variant": lambda sweeps: sweeps.conversations_by_variant(),
    "variant_sums": lambda sweeps: sweeps.variant_sums(["t1:0:brief"]),
    "variant_users": lambda sweeps: sweeps.variant_users("t1:0:brief"),
    "pinned_users": lambda sweeps: sweeps.pinned_users(),
    "spent_today": lambda sweeps: sweeps.spent_today(NOW),
    "count_mail": lambda sweeps: sweeps.count_mail("2026-11-23", 10),
    "list_copied": lambda sweeps: sweeps.list_copied(EPOCH, EPOCH, 10),
    "find_mail_by_token": lambda sweeps: sweeps.find_mail_by_token("hash"),
    "find_approval_by_link": lambda sweeps: sweeps.find_approval_by_link("hash"),
}


def test_every_query_of_a_sweep_is_tried() -> None:
    assert set(CALLS) == {name for name, value in vars(Sweeps).items() if callable(value) and name[0] != "_"}


SCANS = {"users_without_words", "pinned_users"}
"""Operators' commands: one once after an update, one in the table of a trial."""


@pytest.mark.parametrize("name", sorted(CALLS.keys() - SCANS))
async def test_a_query_of_all_users_is_served_by_an_index(
    database: AsyncDatabase[Document], sent: Sent, name: str
) -> None:
    # Something is due, so that the oldest of it is looked for.
    await database[approvals.COLLECTION].insert_one({"_id": "a", "user_id": "u", "due_at": 1.0, "links": []})
    await database["agent_conversations"].insert_one({"_id": "u:c", "id": "c", "user_id": "u", **SILENT})
    await database["user_memories"].insert_one({"_id": "m", "user_id": "u", "created": 1.0, **NEW})
    await database["agent_settings"].insert_one({"_id": "u", "user_id": "u", "briefing_at": 1.0})
    await database["agent_applications"].insert_one({"_id": "s", "user_id": "u", "due_at": 1.0})
    sent.commands.clear()
    await CALLS[name](Sweeps(database))
    assert sent.commands
    assert [each for each in sent.commands if not is_served(each)] == []


SILENT = {"extract_at": 1.0, "lease_until": 0}
NEW = {"consolidated": False, "status": "active"}


def is_served(command: Mapping[str, Any]) -> bool:
    """Whether an index, or `_id`, finds just what is chosen, or its beginning, in the order that is asked for."""
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


def test_the_check_sees_what_no_index_serves() -> None:
    assert not is_served({"find": approvals.COLLECTION, "filter": {"tool": "x"}})
    assert not is_served({"find": approvals.COLLECTION, "filter": {"due_at": {"$gt": 0}}, "sort": {"created_at": 1}})
    assert is_served({"find": approvals.COLLECTION, "filter": {"due_at": {"$gt": 0}}, "sort": {"due_at": 1}})


async def test_users_are_found_up_to_an_id_though_one_has_more_memories_than_a_page(
    database: AsyncDatabase[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwestly_agent.stores.due.MEMORIES_AT_A_TIME", 2)
    told = [{"_id": f"{user}{n}", "user_id": user, "key": f"{user}{n}", **NEW} for user in "abcd" for n in range(3)]
    await database["user_memories"].insert_many(told)
    sweeps = Sweeps(database)
    assert await sweeps.users_to_consolidate("", 10) == ["a", "b", "c", "d"]
    assert await sweeps.users_to_consolidate("a", 2) == ["b", "c"]
    assert await sweeps.users_to_consolidate("", 10, "b") == ["a", "b"]


async def test_what_all_users_spent_today_leaves_out_other_days(database: AsyncDatabase[Document]) -> None:
    usage, sweeps = Usage(database), Sweeps(database)
    assert await sweeps.spent_today(NOW) == 0.0
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
    assert await sweeps.spent_today(NOW) == 0.875
