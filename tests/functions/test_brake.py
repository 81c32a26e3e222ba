"""The brake: everything stops, nothing starts, and a receipt lists the outcome of what was running."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import ServerSelectionTimeoutError

from infra.brake import run
from infra.local.candidate_app import OPERATIONS, CandidateAppServer, Fault
from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.approvals import pause
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.stores.runs import Sweeps
from qwestly_agent.stores.user_settings import Signals
from tests.servers import ChatServer, Client, Event, token, until

NOTHING_RAN: dict[str, list[str]] = {"stopped": [], "finished": [], "unknown": [], "running": [], "waiting": []}


def last_of(events: Any) -> Event:
    return list(events)[-1]


@pytest.mark.thorough
def test_a_running_turn_is_stopped_by_the_brake_and_keeps_its_text(client: Client, model: ModelServer) -> None:
    model.script(*[Reply(text=["Half of ", "it."], hold_after=1)] * 2)
    with client.open({"message": "One"}) as one, client.open({"message": "Two"}) as two:
        runs = [next(events).data["run_id"] for events in (one, two)]
        assert [next(events).data["content"] for events in (one, two)] == ["Half of "] * 2
        standing = client.request("POST", "/api/brake").json()
        assert standing["state"] == "paused"
        assert standing["receipt"] == NOTHING_RAN | {"stopped": sorted(runs)}
        for events in (one, two):
            assert last_of(events).data == {
                "code": "braked",
                "message": "Everything is paused. Nothing runs until you resume.",
            }
    for item in client.get("/api/conversations")["items"]:
        kept = client.get(f"/api/conversations/{item['id']}")["messages"][-1]
        assert (kept["content"], kept["status"], kept["error"]["code"]) == ("Half of ", "failed", "braked")


def test_a_turn_that_ends_before_the_brake_lists_work_is_in_the_receipt(
    client: Client, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, look = threading.Event(), Sweeps.running_work

    async def look_late(self: Sweeps, whose: str, now: float) -> Any:
        assert await asyncio.to_thread(ended.wait, 20)
        return await look(self, whose, now)

    monkeypatch.setattr(Sweeps, "running_work", look_late)
    model.script(Reply(text=["Half of ", "it."], hold_after=1))
    with client.open({"message": "One"}) as events, ThreadPoolExecutor(1) as pool:
        run = next(events).data["run_id"]
        pulled = pool.submit(client.request, "POST", "/api/brake")
        assert last_of(events).data["code"] == "braked"
        ended.set()
        assert pulled.result().json()["receipt"] == NOTHING_RAN | {"stopped": [run]}


def test_nothing_starts_while_the_brake_is_on_and_all_works_once_it_is_off(client: Client, model: ModelServer) -> None:
    first = client.say("Hello")
    assert client.request("POST", "/api/brake").json()["receipt"] == NOTHING_RAN
    asked = len(model.requests)
    for body in ({"message": "New"}, {"message": "More", "conversation_id": first.conversation_id}):
        refused = client.request("POST", "/api/chat", json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (423, "braked")
    assert len(model.requests) == asked
    assert [item["id"] for item in client.get("/api/conversations")["items"]] == [first.conversation_id]
    assert client.get("/api/brake")["state"] == "paused"
    assert client.request("DELETE", "/api/brake").json()["state"] == "running"
    assert client.say("And now?", first.conversation_id).last.name == "done"


def test_a_brake_stops_only_its_own_users_turns(chat: ChatServer, client: Client) -> None:
    client.request("POST", "/api/brake")
    with Client(chat.url, f"{client.user_id}-neighbour") as neighbour:
        assert neighbour.get("/api/brake")["state"] == "running"
        assert neighbour.say("Hello").last.name == "done"


def test_pulling_the_brake_twice_keeps_the_first_time(client: Client) -> None:
    first = client.request("POST", "/api/brake").json()
    assert client.request("POST", "/api/brake").json()["since"] == first["since"]


LONG = 120.0
"""Seconds that fifty streams may take on a busy machine."""


def read_to_the_end(events: Iterator[Event]) -> Event:
    return next(event for event in events if event.name != "text_delta")


@pytest.mark.nightly
@pytest.mark.thorough
def test_the_brake_for_all_users_stops_fifty_concurrent_streams(
    chat: ChatServer, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pause, "PATIENCE_SECONDS", LONG)
    users = [f"auth0|braked-{number}" for number in range(17)]
    model.script(*[Reply(text=["word "] * 300, hold_after=1)] * 50)
    with (
        ChatServer(replace(chat.settings, mongodb_database=f"{chat.settings.mongodb_database}_brake")) as server,
        ExitStack() as open_streams,
        ThreadPoolExecutor(50) as pool,
    ):
        streams = []
        for number in range(50):
            client = open_streams.enter_context(Client(server.url, users[number % len(users)]))
            client.http.timeout = LONG
            events = open_streams.enter_context(client.open({"message": f"Stream {number}"}))
            assert [next(events).name for _ in range(2)] == ["conversation", "text_delta"]
            streams.append(events)
        model.wait_until_held(timeout=LONG, count=50)
        standing = asyncio.run(run("on", EVERYBODY, server.settings))
        model.release()
        after = [event for each in pool.map(list, streams) for event in each]
        assert [event.data["code"] for event in after] == ["braked"] * 50
        assert standing.everybody
        assert standing.receipt
        assert len(standing.receipt.stopped) == 50
        with Client(server.url, users[0]) as user:
            assert user.request("POST", "/api/chat", json={"message": "Hello"}).status_code == 423
            assert user.request("DELETE", "/api/brake").json()["state"] == "paused", "not a user's to release"
            asyncio.run(run("off", EVERYBODY, server.settings))
            assert user.say("Hello").last.name == "done"


def test_no_token_can_pull_the_brake_for_all_users(chat: ChatServer, client: Client) -> None:
    forged = client.http.post(f"{chat.url}/api/brake", headers={"Authorization": f"Bearer {token(EVERYBODY)}"})
    assert forged.status_code == 401
    assert client.get("/api/brake")["everybody"] is False


@pytest.mark.thorough
def test_a_dead_processs_turn_is_reported_as_running_until_its_lease_ends(chat: ChatServer, client: Client) -> None:
    conversation_id = client.say("Hello").conversation_id
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        conversations = mongo[chat.settings.mongodb_database]["agent_conversations"]
        held = {"holder": "killed", "lease_until": time.time() + 0.5}
        conversations.update_one({"id": conversation_id, "user_id": client.user_id}, {"$set": held})
    receipt = client.request("POST", "/api/brake").json()["receipt"]
    assert receipt == NOTHING_RAN | {"finished": ["killed"]}


@pytest.mark.parametrize("what", ["show", "off"])
def test_an_operator_can_read_and_release_one_users_brake(chat: ChatServer, client: Client, what: str) -> None:
    client.request("POST", "/api/brake")
    standing = asyncio.run(run(what, client.user_id, chat.settings))
    assert standing.state == ("paused" if what == "show" else "running")


# --- actions ----------------------------------------------------------------------------------------------------------


class Arrivals(deque[dict[str, Any]]):
    """The requests of the candidate app."""

    @property
    def effects(self) -> list[dict[str, Any]]:
        return [request for request in self if request["method"] != "GET"]


@pytest.fixture
def arrivals(app: CandidateAppServer, monkeypatch: pytest.MonkeyPatch) -> Arrivals:
    monkeypatch.setattr(app.api, "requests", Arrivals())
    return app.api.requests  # type: ignore[return-value]


@contextmanager
def effects_held(app: CandidateAppServer) -> Iterator[threading.Event]:
    """The candidate app holds every write until the event is set, and then answers each within a tenth of a second."""
    over, answering = threading.Event(), threading.Event()

    def answer() -> None:
        while not over.wait(0.1):
            if answering.is_set():
                app.api.release()

    faults: list[Fault] = ["hold_before"] * 1_000
    app.misbehave(*faults)
    pacing = threading.Thread(target=answer)
    pacing.start()
    try:
        yield answering
    finally:
        over.set()
        pacing.join()


CHANGES = {
    "headline": "Head of Product",
    "location": "Berlin",
    "summary": "Leads.",
    "skills": ["SQL"],
    "languages": ["German"],
    "years_of_experience": 7,
}


def asked_for(user: Client, model: ModelServer, **changes: Any) -> dict[str, Any]:
    """Return the body that approves these changes, one after the other."""
    calls: list[ToolCall] = [
        {"name": "update_profile_field", "arguments": {"field": name, "value": value}}
        for name, value in changes.items()
    ]
    model.script(Reply(tool_calls=calls))
    answer = user.say("Change all of it")
    waits = [event.data for event in answer.events if event.name == "approval_required"]
    yes = [{"approval_id": w["approval_id"], "args_digest": w["args_digest"], "decision": "approve"} for w in waits]
    return {"conversation_id": answer.conversation_id, "decisions": yes}


def done_by(chat: ChatServer, user: Client) -> list[str]:
    """Return the idempotency keys of the actions executed for this user."""
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        operations = mongo[chat.settings.mongodb_database][OPERATIONS]
        return [each["key"] for each in operations.find({"user_id": user.user_id, "status": "done"})]


def statuses_of(user: Client) -> dict[str, str]:
    return {each["approval_id"]: each["status"] for each in user.get("/api/approvals?state=all")["items"]}


@pytest.mark.sentinel
@pytest.mark.thorough
def test_no_action_starts_after_the_brake_while_fifty_streams_run(
    chat: ChatServer,
    client: Client,
    model: ModelServer,
    app: CandidateAppServer,
    arrivals: Arrivals,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    look = Sweeps.running_work

    async def look_and_go_on(self: Sweeps, whose: str, now: float) -> Any:
        found = await look(self, whose, now)
        answering.set()
        return found

    monkeypatch.setattr(pause, "PATIENCE_SECONDS", LONG)
    with (
        ChatServer(replace(chat.settings, running_turns=60)) as server,
        ExitStack() as opened,
        ThreadPoolExecutor(60) as pool,
    ):
        clients = [opened.enter_context(Client(server.url, client.user_id)) for _ in range(52)]
        for each in clients:
            each.http.timeout = LONG
        user, deciding, *talking = clients
        yes = asked_for(user, model, **CHANGES)
        arrivals.clear()
        model.script(*[Reply(text=["word "] * 300, hold_after=1)] * 50)
        streams = [opened.enter_context(each.open({"message": "Talk"})) for each in talking]
        for events in streams:
            assert [next(events).name for _ in range(2)] == ["conversation", "text_delta"]
        reading = [pool.submit(read_to_the_end, events) for events in streams]
        with effects_held(app) as answering:
            decided = pool.submit(deciding.request, "POST", "/api/chat", json=yes)
            until(lambda: app.api.held, LONG)
            app.api.release()
            until(lambda: len(arrivals.effects) == 2 and app.api.held, LONG)
            monkeypatch.setattr(Sweeps, "running_work", look_and_go_on)
            standing = user.request("POST", "/api/brake").json()
            assert {each.result().data["code"] for each in reading} == {"braked"}
            model.release()
            assert decided.result().status_code == 423
        found = statuses_of(user)
        begun = {each["headers"]["idempotency-key"] for each in arrivals.effects}
        assert len(begun) < len(CHANGES)
        assert {found[each] for each in begun} <= {"done", "failed"}, (
            "failed: sent for a version that was none any more"
        )
        assert {status for each, status in found.items() if each not in begun} <= {"frozen", "failed"}
        assert set(done_by(chat, user)) == {each for each in begun if found[each] == "done"}
        assert standing["state"] == "paused"
        stopped = set(standing["receipt"]["stopped"])
        assert len(stopped - found.keys()) == 50, "the turns"
        assert stopped & found.keys() == {each for each, status in found.items() if status == "failed"}, (
            "and what was decided, and of which nothing was done"
        )
        assert begun & stopped.union(standing["receipt"]["finished"]), "what was under way is told"
        user.request("DELETE", "/api/brake")


@pytest.mark.thorough
def test_an_unstoppable_action_is_listed_in_the_receipt_and_the_next_one_not_started(
    chat: ChatServer,
    client: Client,
    model: ModelServer,
    app: CandidateAppServer,
    arrivals: Arrivals,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pause, "PATIENCE_SECONDS", 0.3)
    yes = asked_for(client, model, headline="Head of Product", location="Berlin")
    first, second = (each["approval_id"] for each in yes["decisions"])
    app.misbehave("hold_before")
    with ThreadPoolExecutor(1) as pool, Client(chat.url, client.user_id) as deciding:
        decided = pool.submit(deciding.request, "POST", "/api/chat", json=yes)
        until(lambda: app.api.held)
        standing = client.request("POST", "/api/brake").json()
        assert standing["state"] == "partial"
        receipt = standing["receipt"]
        assert (receipt["stopped"], receipt["finished"]) == ([], [])
        assert receipt["unknown"] == [first], "it was sent, and its outcome is not known"
        assert len(receipt["running"]) == 1, "the turn in which it was decided"
        app.api.release()
        assert decided.result().status_code == 423
    assert statuses_of(client) == {first: "done", second: "frozen"}
    assert len(arrivals.effects) == 1
    standing = client.get("/api/brake")
    assert standing["state"] == "paused", "once the outcome is known, the receipt is complete"
    assert first in standing["receipt"]["finished"]
    client.request("DELETE", "/api/brake")
    assert statuses_of(client) == {first: "done", second: "pending"}


async def gone(*_: Any) -> Any:
    raise ServerSelectionTimeoutError("The database is gone.")


def test_no_decision_is_executed_if_the_brake_cannot_be_read(
    client: Client, model: ModelServer, app: CandidateAppServer, arrivals: Arrivals, monkeypatch: pytest.MonkeyPatch
) -> None:
    yes = asked_for(client, model, headline="Head of Product")
    with monkeypatch.context() as patch:
        patch.setattr(Signals, "read", gone)
        assert client.request("POST", "/api/chat", json=yes).status_code == 503
        [decision] = yes["decisions"]
        path = f"/api/approvals/{decision.pop('approval_id')}/decision"
        assert client.request("POST", path, json=decision).status_code == 503
    assert set(statuses_of(client).values()) == {"pending"}
    assert arrivals.effects == []


def test_no_action_runs_at_any_level_if_the_brake_cannot_be_read(
    client: Client, model: ModelServer, app: CandidateAppServer, arrivals: Arrivals, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.request("PUT", "/api/autonomy", json={"level": "L3"})
    call: ToolCall = {"name": "update_profile_field", "arguments": {"field": "headline", "value": "Head"}}
    model.script(Reply(tool_calls=[call], hold_after=0))
    with monkeypatch.context() as patch, client.open({"message": "Change it"}) as events:
        model.wait_until_held()
        patch.setattr(Signals, "read", gone)
        model.release()
        assert last_of(events).data["code"] == "unavailable"
    assert arrivals.effects == []
