"""A trial's events are counted only once, despite retries and concurrent writes."""

import asyncio

import pytest
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.domain.rollout import Assignment
from qwestly_agent.platform.collection import Document
from qwestly_agent.stores.conversations import Conversations, PartialAnswers
from qwestly_agent.stores.measures import REMEMBERED_RUNS, VARIANT_COUNTS, VariantCounts
from qwestly_agent.stores.messages import NewTurn

pytestmark = pytest.mark.anyio
TAG, NOW = "t1:0:brief", 1_800_000_000.0


async def found(database: AsyncDatabase[Document], user_id: str) -> Document:
    [document] = await database[VARIANT_COUNTS].find({"user_id": user_id}).to_list()
    return document


async def test_a_turn_counted_again_counts_once(database: AsyncDatabase[Document]) -> None:
    counts = VariantCounts(database)
    for run_id in ("r1", "r1", "r2", "r1", "r2"):
        await counts.add("ada", TAG, run_id, {"turns": 1, "failed": 0, "cost_usd": 0.5}, NOW)
    document = await found(database, "ada")
    assert (document["turns"], document["cost_usd"], document["runs"]) == (2, 1.0, ["r1", "r2"])
    assert "failed" not in document


async def test_turns_that_end_concurrently_are_all_counted(database: AsyncDatabase[Document]) -> None:
    counts = VariantCounts(database)
    runs = [f"r{number % 10}" for number in range(20)]
    await asyncio.gather(*(counts.add("ada", TAG, each, {"turns": 1}, NOW) for each in runs))
    assert (await found(database, "ada"))["turns"] == 10


async def test_only_the_last_counted_runs_are_stored(database: AsyncDatabase[Document]) -> None:
    counts = VariantCounts(database)
    for number in range(REMEMBERED_RUNS + 5):
        await counts.add("ada", TAG, f"r{number}", {"turns": 1}, NOW)
    document = await found(database, "ada")
    assert (document["turns"], len(document["runs"])) == (REMEMBERED_RUNS + 5, REMEMBERED_RUNS)


async def test_a_dead_turn_is_counted_once_when_its_conversation_is_recovered(
    database: AsyncDatabase[Document],
) -> None:
    conversations, turn = Conversations(database), NewTurn("r1", "m1", "Hello", NOW)
    claim = await conversations.create("ada", "c1", turn, "default")
    assert claim
    await PartialAnswers(database).save_assignment(claim, Assignment(trial="t1", leg=0, variant="brief"))
    for _ in range(2):
        await conversations.recover_abandoned("ada", "c1", "extraction", NOW + 60)
    document = await found(database, "ada")
    assert (document["tag"], document["turns"], document["failed"], document["conversations"]) == (TAG, 1, 1, 1)
