"""Erasures and forgettings are logged outside the database before they happen."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pymongo.database import Database

from infra.local.aws import AwsServer
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.clients.aws import MOST_LINES
from qwestly_agent.domain.approval import sha256_hex
from tests.functions.approving import ERASURES, TEMPLATE, World
from tests.functions.talking import add_memory
from tests.servers import USER, ChatServer, Client, settings_for

GROUP = TEMPLATE.name("ErasureLog")
KEY = ERASURES["erasure_key"]
CONTENT = "Lives in Lisbon with two children."


@pytest.fixture(autouse=True)
def group(aws: AwsServer) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Return the lines in the log group."""
    logs = aws.client("logs")

    def lines() -> list[dict[str, Any]]:
        found = logs.get_paginator("filter_log_events").paginate(logGroupName=GROUP)
        return [json.loads(each["message"]) for page in found for each in page["events"]]

    yield lines
    logs.delete_log_group(logGroupName=GROUP)
    logs.create_log_group(logGroupName=GROUP)


@pytest.fixture
def user(world: World, mongodb_uri: str, model: ModelServer) -> Iterator[Client]:
    """A signed-in user with a conversation and a memory."""
    given = {"erasure_log": GROUP, "erasure_key": f"{KEY},{KEY[::-1]}", "candidate_api_url": world.candidate_app.url}
    settings = settings_for(mongodb_uri, model.base_url, world.database.name, **given)
    with ChatServer(settings, world.clock) as chat, Client(chat.url, USER, world.clock) as client:
        yield client


def talks(client: Client, model: ModelServer) -> str:
    model.script(Reply(text="Noted."))
    return client.say("I live in Lisbon.").conversation_id


def remembers(world: World, content: str = CONTENT) -> str:
    return world.run(lambda services: add_memory(services, USER, world.clock(), content))


def kept_of(database: Database[dict[str, Any]]) -> dict[str, int]:
    names = ("agent_conversations", "agent_messages", "user_memories")
    return {name: database[name].count_documents({"user_id": USER, "status": {"$ne": "forgotten"}}) for name in names}


def test_forgetting_logs_a_tombstone_without_user_content(
    world: World, user: Client, group: Callable[[], list[dict[str, Any]]]
) -> None:
    memory_id = remembers(world)
    user.request("DELETE", f"/api/memories/{memory_id}").raise_for_status()
    [line], [kept] = group(), world.database["user_memories"].find()
    assert (line["what"], line["id"], line["at"]) == ("memory", memory_id, world.clock())
    assert line["tombstone"] == {name: kept[name] for name in ("hashes", "signature", "dimensions", "stems", "seen")}
    assert USER not in json.dumps(line)
    assert "Lisbon" not in json.dumps(line)


@pytest.mark.thorough
def test_an_erasure_is_logged_with_a_keyed_hash_of_the_user(
    world: World, user: Client, model: ModelServer, group: Callable[[], list[dict[str, Any]]]
) -> None:
    conversation_id = talks(user, model)
    user.request("DELETE", f"/api/conversations/{conversation_id}").raise_for_status()
    user.request("DELETE", "/api/me").raise_for_status()
    conversation, account = group()
    assert (conversation["what"], account["what"]) == ("conversation", "user")
    assert conversation["user"] == account["user"]
    assert not {USER, conversation_id, sha256_hex(USER), sha256_hex(conversation_id)} & {*conversation.values()}


@pytest.mark.parametrize("path", ["/api/me", "/api/conversations/{}", "/api/memories/{}"])
def test_an_erasure_that_cannot_be_logged_is_rejected(
    world: World, user: Client, aws: AwsServer, model: ModelServer, path: str
) -> None:
    ids = {"conversations": talks(user, model), "memories": remembers(world)}
    path = path.format(ids.get(path.split("/")[2], ""))
    before = kept_of(world.database)
    aws.client("logs").delete_log_group(logGroupName=GROUP)
    answer = user.request("DELETE", path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    assert kept_of(world.database) == before
    aws.client("logs").create_log_group(logGroupName=GROUP)
    assert user.request("DELETE", path).is_success
    assert kept_of(world.database) != before


@pytest.mark.thorough
def test_an_undone_memory_is_logged(world: World, user: Client, group: Callable[[], list[dict[str, Any]]]) -> None:
    memory_id = remembers(world)
    within_a_day = {"$set": {"undo_until": world.clock() + 60}}
    world.database["user_memories"].update_one({"_id": memory_id}, within_a_day)
    user.request("POST", f"/api/memories/{memory_id}/undo").raise_for_status()
    assert [each["id"] for each in group()] == [memory_id]


@pytest.mark.thorough
def test_more_memories_than_fit_in_one_request_are_all_logged(
    world: World, user: Client, group: Callable[[], list[dict[str, Any]]]
) -> None:
    """The memories are one lineage: all were replaced by the last one."""
    ids = [remembers(world, f"Number {number}.") for number in range(MOST_LINES + 2)]
    replaced = {"$set": {"status": "superseded", "superseded_by": ids[-1]}}
    world.database["user_memories"].update_many({"_id": {"$in": ids[:-1]}}, replaced)
    user.request("DELETE", f"/api/memories/{ids[-1]}").raise_for_status()
    assert {each["id"] for each in group()} == {*ids}
