"""A user exports or erases everything we store about them."""

import asyncio
import json
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient
from pymongo.database import Database
from pymongo.errors import ServerSelectionTimeoutError

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.account import delete, erase
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.memory import Memory, MemorySource
from qwestly_agent.services import Services
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.drafts import COLLECTION as DRAFTS
from qwestly_agent.stores.learning import LESSONS
from qwestly_agent.stores.memory_work import EXTRACTIONS
from qwestly_agent.stores.messages import COLLECTION as MESSAGES
from qwestly_agent.stores.messages import TOOL_CALLS, ClaimedConversation, NewTurn, ToolCalls
from qwestly_agent.stores.runs import RunningWork, Sweeps
from qwestly_agent.stores.search import to_binary
from qwestly_agent.stores.usage import Load, Usage
from tests.functions.approving import ONE, TWO, World
from tests.killing import Death, Killed, deaths, mortal
from tests.mongo_rule import ABOUT_NOBODY, ACTIONS
from tests.servers import USER, ChatServer, Client, until

OURS = {name for name, actions in ACTIONS.items() if "insert" in actions} - ABOUT_NOBODY


@pytest.fixture
def database(chat: ChatServer) -> Any:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        yield mongo[chat.settings.mongodb_database]


@pytest.fixture
def stranger(database: Database[dict[str, Any]]) -> Iterator[str]:
    user_id = f"auth0|{uuid.uuid4().hex}"
    yield user_id
    for name in OURS:
        database[name].delete_many({"user_id": user_id})


def leave_traces(database: Database[dict[str, Any]], user_id: str) -> None:
    """Store something of this user in each of our collections, including fields that must not be exported."""
    for name in OURS:
        secret = {"task_token": "sealed", "links": ["hash-of-a-link"], "hash": "hash-of-words", "key": "k-" + user_id}
        vector = {"content_embedding": to_binary([0.5, 0.25])}
        said = {"content": f"something in {name}", "at": 7.5, "bytes": b"\xff"}
        database[name].insert_one({"_id": f"{name} of {user_id}", "user_id": user_id, **said, **secret, **vector})


def counted(database: Database[dict[str, Any]], user_id: str) -> Counter[str]:
    return Counter({name: count for name in OURS if (count := database[name].count_documents({"user_id": user_id}))})


@pytest.mark.thorough
def test_an_export_contains_all_data_of_the_user_and_none_of_others(
    client: Client, stranger: str, database: Database[dict[str, Any]]
) -> None:
    leave_traces(database, client.user_id)
    leave_traces(database, stranger)
    answer = client.request("GET", "/api/me/export")
    taken = answer.json()
    assert "attachment" in answer.headers["content-disposition"]
    assert taken["complete"] is True
    assert taken["user_id"] == client.user_id
    assert "candidate app" in taken["elsewhere"]
    assert taken["collections"].keys() == taken["counts"].keys() == OURS
    for name, documents in taken["collections"].items():
        [document] = documents
        assert (document["id"], document["content"]) == (f"{name} of {client.user_id}", f"something in {name}")
    assert stranger not in answer.text


def test_an_export_contains_no_vector_task_token_or_hash(client: Client, database: Database[dict[str, Any]]) -> None:
    leave_traces(database, client.user_id)
    text = client.request("GET", "/api/me/export").text
    assert "something in user_memories" in text
    for secret in ("sealed", "hash-of-a-link", "hash-of-words", "content_embedding"):
        assert secret not in text


@pytest.mark.thorough
def test_an_export_has_messages_and_answers(client: Client, model: ModelServer) -> None:
    model.script(Reply(text="Noted."))
    client.say("I live in Lisbon.")
    taken = client.get("/api/me/export")["collections"]
    assert [each["content"] for each in taken["agent_messages"]] == ["I live in Lisbon.", "Noted."]
    assert [each["title"] for each in taken["agent_conversations"]] == ["I live in Lisbon."]


def test_an_unknown_user_exports_an_empty_document(client: Client) -> None:
    taken = client.get("/api/me/export")
    assert set(map(len, taken["collections"].values())) == {0}


@pytest.mark.sentinel
@pytest.mark.thorough
def test_erasing_a_user_leaves_nothing_and_does_not_touch_others(
    client: Client, stranger: str, database: Database[dict[str, Any]]
) -> None:
    leave_traces(database, client.user_id)
    leave_traces(database, stranger)
    others = counted(database, stranger)
    answer = client.request("DELETE", "/api/me").json()
    assert {name for name, count in answer["erased"].items() if count} == OURS
    assert "candidate app" in answer["note"]
    assert counted(database, client.user_id) == Counter()
    assert counted(database, stranger) == others


def test_an_erased_user_who_returns_starts_without_any_data(client: Client, model: ModelServer) -> None:
    model.script(Reply(text="Noted."))
    first = client.say("I live in Lisbon.").conversation_id
    client.request("PUT", "/api/autonomy", json={"level": "L0"})
    client.request("DELETE", "/api/me")
    assert client.request("GET", f"/api/conversations/{first}").status_code == 404
    assert client.get("/api/brake")["state"] == "running"
    assert client.get("/api/autonomy")["level"] == "L1"
    model.script(Reply(text="Hello."))
    assert client.say("Hello").last.name == "done"


@pytest.mark.thorough
def test_erasing_stops_a_running_turn_that_then_writes_nothing(
    client: Client, model: ModelServer, database: Database[dict[str, Any]]
) -> None:
    model.script(Reply(text=["Half of ", "it."], hold_after=1))
    with client.open({"message": "I live in Lisbon."}) as events:
        assert next(event for event in events if event.name == "text_delta")
        client.request("DELETE", "/api/me")
        *_, last = events
    assert (last.name, last.data["code"]) == ("error", "braked")
    assert counted(database, client.user_id) == Counter()


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch, store: type, name: str) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Make a method of a store wait before it does anything: yields an event for its call, and one to let it
    continue."""
    method, called, go = getattr(store, name), threading.Event(), threading.Event()

    async def waiting(*given: Any, **named: Any) -> Any:
        called.set()
        await asyncio.to_thread(go.wait)
        return await method(*given, **named)

    monkeypatch.setattr(store, name, waiting)
    try:
        yield called, go
    finally:
        go.set()


def test_a_turn_rejected_by_the_brake_is_withdrawn_before_the_response(
    client: Client, monkeypatch: pytest.MonkeyPatch, database: Database[dict[str, Any]]
) -> None:
    client.request("POST", "/api/brake")
    withdraw, withdrawn = Conversations.withdraw, threading.Event()

    async def noted(store: Conversations, claim: ClaimedConversation) -> None:
        await withdraw(store, claim)
        withdrawn.set()

    monkeypatch.setattr(Conversations, "withdraw", noted)
    with ThreadPoolExecutor() as pool, held(monkeypatch, Usage, "begin_turn") as (_, go):
        refused = pool.submit(client.request, "POST", "/api/chat", json={"message": "Hello"})
        assert withdrawn.wait(10)
        go.set()
        assert refused.result().status_code == 423
    assert not database["agent_usage"].count_documents({"user_id": client.user_id})
    client.request("DELETE", "/api/me")
    assert counted(database, client.user_id) == Counter()


def test_a_turn_rejected_during_an_erasure_creates_no_account(
    client: Client, monkeypatch: pytest.MonkeyPatch, database: Database[dict[str, Any]]
) -> None:
    client.say("Hello")
    client.request("POST", "/api/brake")
    withdraw, withdrawn = Conversations.withdraw, threading.Event()

    async def noted(store: Conversations, claim: ClaimedConversation) -> None:
        await withdraw(store, claim)
        withdrawn.set()

    monkeypatch.setattr(Conversations, "withdraw", noted)
    with ThreadPoolExecutor() as pool, held(monkeypatch, Usage, "begin_turn") as (_, go):
        refused = pool.submit(client.request, "POST", "/api/chat", json={"message": "Hello again"})
        assert withdrawn.wait(10)
        with Client(client.url, client.user_id) as elsewhere:
            assert elsewhere.request("DELETE", "/api/me").status_code == 200
        go.set()
        assert refused.result().status_code == 423
    assert counted(database, client.user_id) == Counter()


@pytest.mark.thorough
@pytest.mark.parametrize(("store", "name"), [(Usage, "settle"), (ToolCalls, "add"), (Conversations, "finish")])
def test_an_erasure_waits_for_the_writes_of_a_running_turn(
    client: Client,
    model: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    database: Database[dict[str, Any]],
    store: type,
    name: str,
) -> None:
    under_way, looks = Sweeps.running_work, list[float]()

    async def looked(sweeps: Sweeps, user_id: str, now: float) -> RunningWork:
        looks.append(now)
        return await under_way(sweeps, user_id, now)

    monkeypatch.setattr(Sweeps, "running_work", looked)
    model.script(Reply(tool_calls=[{"name": "list_capabilities", "arguments": {}}]), Reply(text="Much."))
    with ThreadPoolExecutor() as pool, held(monkeypatch, store, name) as (called, go):
        said = pool.submit(client.post, {"message": "What can you do?"})
        assert called.wait(10)
        with Client(client.url, client.user_id) as elsewhere:
            erased = pool.submit(elsewhere.request, "DELETE", "/api/me")
            until(lambda: erased.done() or len(looks) > 4)
            assert not erased.done()
            go.set()
            assert erased.result().status_code == 200
            said.result()
    assert counted(database, client.user_id) == Counter()


def test_a_turn_that_ends_after_the_erasure_records_no_usage(
    client: Client, chat: ChatServer, database: Database[dict[str, Any]]
) -> None:
    client.say("Hello")
    client.request("DELETE", "/api/me")
    usage = Usage(AsyncMongoClient(chat.settings.mongodb_uri)[chat.settings.mongodb_database])

    async def account() -> None:
        now = chat.clock()
        await usage.add_spending(client.user_id, {"cost_usd": 0.01}, now)
        await usage.settle(client.user_id, "run", {"cost_usd": 0.01}, Load({}, (), 0.0), now)
        await usage.database.client.close()

    asyncio.run(account())
    assert counted(database, client.user_id) == Counter()


def test_waiting_executions_are_notified_before_their_records_are_erased(world: World) -> None:
    for approval_id, token in ((ONE, "waits-for-one"), (TWO, "waits-for-two")):
        world.wire.waiting.add(token)
        sealed = world.run(lambda services, t=token, a=approval_id: services.workflows.seal(t, a))
        world.ask(approval_id, task_token=sealed)
    erased = world.run(lambda services: erase(services, USER))
    assert world.wire.calls["send_task_success"] == 2
    assert erased["agent_approvals"] == 2
    assert not world.dump()["agent_approvals"]


def test_an_execution_that_cannot_be_notified_blocks_neither_erasure_nor_others(
    world: World,
) -> None:
    world.wire.waiting.add("waits-for-one")
    for approval_id, sealed_for in ((ONE, ONE), (TWO, ONE)):
        sealed = world.run(lambda services, a=sealed_for: services.workflows.seal("waits-for-one", a))
        world.ask(approval_id, task_token=sealed)
        world.clock.advance(1)  # the newest, which cannot be notified, is processed first
    assert world.run(lambda services: erase(services, USER))["agent_approvals"] == 2
    assert world.wire.calls["send_task_success"] == 1
    assert not world.dump()["agent_approvals"]


@pytest.mark.thorough
def test_an_erasure_killed_at_any_step_is_completed_by_the_next(world: World) -> None:
    def begin(conversation_id: str) -> None:
        async def work(services: Services) -> None:
            turn = NewTurn("run", "m1", "Hello", world.clock())
            assert await services.conversations.create(USER, conversation_id, turn, "default")
            source = MemorySource(conversation_id=conversation_id)
            unchecked = Memory(id=conversation_id, type="fact", content="Hi", status="unchecked", source=source)
            assert await services.memories.add(USER, unchecked, conversation_id, [], world.clock())

        world.run(work)
        world.ask(f"ap_{conversation_id}", conversation_id=conversation_id)
        whose = {"_id": conversation_id, "user_id": USER, "conversation_id": conversation_id}
        for name in (MESSAGES, TOOL_CALLS, DRAFTS, LESSONS):
            world.database[name].insert_one(dict(whose))
        world.database[EXTRACTIONS].insert_one({**whose, "status": "found"})

    def is_deleted(conversation_id: str, death: Death) -> None:
        world.run(lambda services: delete(mortal(services, death), USER, conversation_id))

    unhurt = Death()
    begin("chat")
    is_deleted("chat", unhurt)
    for number, death in enumerate(deaths(unhurt.writes)):
        begin(conversation_id := f"chat_{number}")
        with pytest.raises(Killed):
            is_deleted(conversation_id, death)
        with suppress(NotFound):
            is_deleted(conversation_id, Death())
        assert not world.run(lambda services, chat=conversation_id: services.conversations.exists(USER, chat)), death
        assert world.approval(f"ap_{conversation_id}").status == "expired", death
        dump = world.dump()
        attached = {name for name in dump for each in dump[name] if each.get("conversation_id") == conversation_id}
        assert (attached, dump["user_memories"]) == (set(), []), death


def test_a_failed_export_is_an_error_and_not_a_partial_document(
    client: Client, chat: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: Any) -> dict[str, int]:
        raise ServerSelectionTimeoutError("gone")

    monkeypatch.setattr(type(chat.services.user_data), "count_documents", gone)
    answer = client.request("GET", "/api/me/export")
    assert (answer.status_code, json.loads(answer.text)["error"]["code"]) == (503, "unavailable")
