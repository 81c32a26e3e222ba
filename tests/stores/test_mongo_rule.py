"""The rule sees every command of the package, and fails the test."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.platform.collection import Document
from qwestly_agent.stores.memories import Memories
from tests.mongo_rule import Watch
from tests.servers import USER

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]


@pytest.mark.anyio
async def test_a_command_is_reported_with_the_line_that_sent_it(
    database: AsyncDatabase[Document], watch: Watch
) -> None:
    memories = Memories.of(database)
    await memories.most_salient(USER, 3)
    assert watch.complaints() == []
    await memories.searchable.find_nearest({"status": "active"}, "trains", None, 3)
    said, _ = watch.complaints()  # of the index that this server does not have, and of what was read instead
    assert said.startswith("stores/search.py:")
    assert said.endswith(" sent aggregate on user_memories, without an equality on user_id: {'status': 'active'}")


@pytest.mark.anyio
async def test_a_command_sent_by_a_test_itself_is_not_checked(database: AsyncDatabase[Document], watch: Watch) -> None:
    await database["candidates_enhanced"].insert_one({"_id": "one"})
    assert await database["brand_new"].count_documents({}) == 0
    assert watch.complaints() == []


def test_a_command_of_an_unknown_sender_is_checked(mongodb_uri: str, watch: Watch) -> None:
    async def ask() -> None:
        async with AsyncMongoClient[Document](mongodb_uri, event_listeners=[watch]) as client:
            await asyncio.create_task(client["qwestly_test_rule"]["agent_signals"].find_one({}))

    asyncio.run(ask())
    assert watch.complaints() == ["somebody sent find on agent_signals, without an equality on user_id: {}"]


A_HOUSE = """
import asyncio
from collections.abc import Iterator

import pytest

from qwestly_agent.bootstrap import make_mongo_client
from qwestly_agent.stores.search import Searchable


async def search(collection: str) -> None:
    async with make_mongo_client(MONGODB_URI) as mongo:
        searchable = Searchable(mongo["qwestly_test_rule"][collection], "index", "vector", "text")
        await searchable.find_nearest({}, "x", None, 1)


@pytest.fixture(scope="session", autouse=True)
def late(watch: object) -> Iterator[None]:
    yield
    asyncio.run(search("agent_signals"))


def test_of_everybody() -> None:
    asyncio.run(search("user_memories"))


def test_of_nobody() -> None:
    asyncio.run(search("qwestly_docs"))
"""


@pytest.mark.nightly
def test_an_unmarked_query_across_users_fails_its_test_or_the_run(mongodb_uri: str, tmp_path: Path) -> None:
    file = tmp_path / "test_house.py"
    file.write_text(A_HOUSE.replace("MONGODB_URI", repr(mongodb_uri)))
    pytest_ = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-c", "pyproject.toml"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "COLUMNS": "400"}
    done = subprocess.run([*pytest_, "-rEf", file], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    *_, of_everybody, of_nobody, _ = done.stdout.splitlines()
    assert "ERROR" in of_everybody
    assert "test_of_everybody - Failed: stores/search.py:" in of_everybody
    assert of_everybody.endswith(" sent aggregate on user_memories, without an equality on user_id: {}")
    assert "test_of_nobody - Failed: stores/search.py:" in of_nobody
    assert of_nobody.endswith(" sent aggregate on agent_signals, without an equality on user_id: {}")
