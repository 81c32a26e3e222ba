"""The brake: everything stops, nothing begins, and a receipt says what became of what ran."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from pymongo import MongoClient

from infra.brake import run
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.authority.model import EVERYBODY
from tests.servers import ChatServer, Client, Event, token


def last_of(events: Any) -> Event:
    return list(events)[-1]


def test_what_runs_is_stopped_and_keeps_its_words(client: Client, model: ModelServer) -> None:
    model.script(*[Reply(text=["Half of ", "it."], hold_after=1)] * 2)
    with client.open({"message": "One"}) as one, client.open({"message": "Two"}) as two:
        runs = [next(events).data["run_id"] for events in (one, two)]
        assert [next(events).data["content"] for events in (one, two)] == ["Half of "] * 2
        standing = client.request("POST", "/api/brake").json()
        assert standing["state"] == "paused"
        assert standing["receipt"] == {"stopped": sorted(runs), "finished": [], "running": []}
        for events in (one, two):
            assert last_of(events).data == {
                "code": "braked",
                "message": "Everything is paused. Nothing runs until the brake is released.",
            }
    for item in client.get("/api/conversations")["items"]:
        kept = client.get(f"/api/conversations/{item['id']}")["messages"][-1]
        assert (kept["content"], kept["status"], kept["error"]["code"]) == ("Half of ", "failed", "braked")


def test_nothing_begins_while_it_is_on_and_all_is_as_before_once_it_is_off(client: Client, model: ModelServer) -> None:
    first = client.say("Hello")
    assert client.request("POST", "/api/brake").json()["receipt"] == {"stopped": [], "finished": [], "running": []}
    asked = len(model.requests)
    for body in ({"message": "New"}, {"message": "More", "conversation_id": first.conversation_id}):
        refused = client.request("POST", "/api/chat", json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (423, "braked")
    assert len(model.requests) == asked
    assert [item["id"] for item in client.get("/api/conversations")["items"]] == [first.conversation_id]
    assert client.get("/api/brake")["state"] == "paused"
    assert client.request("DELETE", "/api/brake").json()["state"] == "running"
    assert client.say("And now?", first.conversation_id).last.name == "done"


def test_it_is_the_users_own(chat: ChatServer, client: Client) -> None:
    client.request("POST", "/api/brake")
    with Client(chat.url, f"{client.user_id}-neighbour") as neighbour:
        assert neighbour.get("/api/brake")["state"] == "running"
        assert neighbour.say("Hello").last.name == "done"


def test_pulling_twice_keeps_the_first_moment(client: Client) -> None:
    first = client.request("POST", "/api/brake").json()
    assert client.request("POST", "/api/brake").json()["since"] == first["since"]


def read_to_the_end(events: Iterator[Event]) -> tuple[float, Event]:
    """When the last word came, and the end."""
    last_word = 0.0
    for event in events:
        if event.name != "text_delta":
            return last_word, event
        last_word = time.monotonic()
    raise AssertionError("no end")


def test_within_a_second_none_of_fifty_streams_says_a_word_more(chat: ChatServer, model: ModelServer) -> None:
    users = [f"auth0|braked-{number}" for number in range(17)]
    model.script(*[Reply(text=["word "] * 300, chunk_delay=0.2)] * 50)
    with (
        ChatServer(replace(chat.settings, mongodb_database=f"{chat.settings.mongodb_database}_brake")) as server,
        ExitStack() as open_streams,
        ThreadPoolExecutor(50) as pool,
    ):
        streams = []
        for number in range(50):
            client = open_streams.enter_context(Client(server.url, users[number % len(users)]))
            events = open_streams.enter_context(client.open({"message": f"Stream {number}"}))
            assert [next(events).name for _ in range(2)] == ["conversation", "text_delta"]
            streams.append(events)
        reading = [pool.submit(read_to_the_end, events) for events in streams]
        pulled = time.monotonic()
        standing = asyncio.run(run("on", EVERYBODY, server.settings))
        ends = [each.result() for each in reading]
        assert {end.data["code"] for _, end in ends} == {"braked"}
        assert max(last_word for last_word, _ in ends) - pulled < 1.0
        assert standing.everybody
        assert standing.receipt
        assert len(standing.receipt.stopped) == 50
        with Client(server.url, users[0]) as user:
            assert user.request("POST", "/api/chat", json={"message": "Hello"}).status_code == 423
            assert user.request("DELETE", "/api/brake").json()["state"] == "paused", "not a user's to release"
            asyncio.run(run("off", EVERYBODY, server.settings))
            assert user.say("Hello").last.name == "done"


def test_no_token_pulls_everybodys_brake(chat: ChatServer, client: Client) -> None:
    forged = client.http.post(f"{chat.url}/api/brake", headers={"Authorization": f"Bearer {token(EVERYBODY)}"})
    assert forged.status_code == 401
    assert client.get("/api/brake")["everybody"] is False


def test_what_a_dead_process_holds_is_told_as_not_stopped_only_until_its_lease_is_over(
    chat: ChatServer, client: Client
) -> None:
    conversation_id = client.say("Hello").conversation_id
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        conversations = mongo[chat.settings.mongodb_database]["agent_conversations"]
        held = {"holder": "killed", "lease_until": time.time() + 0.5}
        conversations.update_one({"id": conversation_id, "user_id": client.user_id}, {"$set": held})
    receipt = client.request("POST", "/api/brake").json()["receipt"]
    assert receipt == {"stopped": [], "finished": ["killed"], "running": []}


@pytest.mark.parametrize("what", ["show", "off"])
def test_an_operator_sees_and_releases_one_users_brake(chat: ChatServer, client: Client, what: str) -> None:
    client.request("POST", "/api/brake")
    standing = asyncio.run(run(what, client.user_id, chat.settings))
    assert standing.state == ("paused" if what == "show" else "running")
