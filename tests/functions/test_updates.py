# ruff: noqa: F811 (fixtures of other modules)
"""`GET /api/updates`: the activity feed and its items, in as few reads as possible."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient

from infra.local.model_server import ModelServer
from qwestly_agent.chat.activity import SOON_SECONDS, updates
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.services import Services
from qwestly_agent.stores.activity import COLLECTION
from qwestly_agent.stores.drafts import Draft, Drafts
from qwestly_agent.stores.user_settings import Signals
from tests.functions.test_execute import (
    INGESTION,
    Stage,
    _stage,  # noqa: F401
    approved,
    asked,
    services,  # noqa: F401
    stage,  # noqa: F401
    user_id,  # noqa: F401
)
from tests.functions.test_round_trips import Gate, gate  # noqa: F401
from tests.servers import ChatServer, Client, seconds, until


@pytest.fixture
def behind(chat: ChatServer, gate: Gate, model: ModelServer) -> Iterator[Client]:
    """A user of a chat whose database commands are counted."""
    settings = replace(chat.settings, mongodb_uri=f"mongodb://127.0.0.1:{gate.port}")
    with ChatServer(settings) as server, Client(server.url, f"auth0|{uuid.uuid4().hex}") as client:
        yield client


def since(client: Client, cursor: str) -> tuple[list[str], str, bool]:
    """Return the types of the items, the next cursor, and whether something is running."""
    told = client.get(f"/api/updates?after={cursor}")
    return [each["type"] for each in told["items"]], told["cursor"], told["active"]


def with_database(chat: ChatServer, work: Callable[[Any], Awaitable[object]]) -> None:
    async def run() -> None:
        async with AsyncMongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
            await work(mongo[chat.settings.mongodb_database])

    asyncio.run(run())


def draft_of(user_id: str, now: float) -> Draft:
    given = {"user_id": user_id, "run_id": "run1", "conversation_id": None, "style": "standard", "label": "Beginning"}
    return Draft(id=f"card_{uuid.uuid4().hex}", **given, created_at=now, updated_at=now)


def test_a_poll_without_news_makes_one_database_read(behind: Client, gate: Gate) -> None:
    cursor = behind.get("/api/updates")["cursor"]
    for level in ("L2", "L3"):
        behind.request("PUT", "/api/autonomy", json={"level": level})
    types, cursor, active = since(behind, cursor)
    assert (types, active) == (["activity", "activity"], False)
    gate.commands = 0
    assert since(behind, cursor) == ([], cursor, False)
    assert gate.commands == 1


def test_a_new_client_receives_no_past_events(behind: Client, gate: Gate) -> None:
    behind.request("PUT", "/api/autonomy", json={"level": "L2"})
    told = behind.get("/api/updates")
    assert [each["type"] for each in told["items"]] == ["brake"]
    gate.commands = 0
    assert since(behind, told["cursor"]) == ([], told["cursor"], False)
    assert gate.commands == 1


def test_updates_follow_a_draft_until_it_ends(chat: ChatServer, client: Client) -> None:
    cursor = client.get("/api/updates")["cursor"]
    draft = draft_of(client.user_id, chat.clock())
    with_database(chat, lambda database: Drafts(database).add(draft))
    types, cursor, active = since(client, cursor)
    assert (sorted(types), active) == (["activity", "draft"], True)
    # Progress is not an event.
    told = {"label": "Drafting 3 of 6 sections"}
    with_database(chat, lambda database: Drafts(database).update(client.user_id, draft.id, chat.clock() + 1, **told))
    [item] = client.get(f"/api/updates?after={cursor}")["items"]
    assert item["draft"]["label"] == told["label"]
    ended = {"status": "failed", "label": "Too little"}
    with_database(chat, lambda database: Drafts(database).update(client.user_id, draft.id, chat.clock() + 2, **ended))
    told = client.get(f"/api/updates?after={cursor}")
    assert not told["active"]
    [event] = [each["activity"] for each in told["items"] if each["type"] == "activity"]
    assert (event["type"], event["severity"]) == ("draft.failed", "warning")
    assert [each["draft"]["status"] for each in told["items"] if each["type"] == "draft"] == ["failed"]
    assert since(client, told["cursor"]) == ([], told["cursor"], False)


def test_the_operators_brake_is_reported_to_every_user_once(chat: ChatServer, client: Client) -> None:
    cursor = client.get("/api/updates")["cursor"]
    try:
        with_database(chat, lambda database: Signals(database).turn_brake_on(EVERYBODY, chat.clock()))
        told = client.get(f"/api/updates?after={cursor}")
        [brake] = [each["brake"] for each in told["items"] if each["type"] == "brake"]
        assert (brake["state"], brake["everybody"]) == ("paused", True)
        [event] = [each["activity"] for each in told["items"] if each["type"] == "activity"]
        assert (event["type"], event["role"]) == ("brake.on", "operators")
        assert since(client, told["cursor"]) == ([], told["cursor"], False)
    finally:
        with_database(chat, lambda database: Signals(database).turn_brake_off(EVERYBODY, chat.clock()))
        with MongoClient(chat.settings.mongodb_uri) as mongo:
            mongo[chat.settings.mongodb_database][COLLECTION].delete_many({"user_id": EVERYBODY})
            mongo[chat.settings.mongodb_database]["agent_signals"].delete_many({"user_id": EVERYBODY})


def test_a_released_brake_has_its_release_time(client: Client) -> None:
    before = client.clock()
    client.request("POST", "/api/brake")
    cursor = client.get("/api/updates")["cursor"]
    client.request("DELETE", "/api/brake")
    [item] = [each for each in client.get(f"/api/updates?after={cursor}")["items"] if each["type"] == "brake"]
    assert (item["brake"]["state"], seconds(item["at"]) >= before - 0.001) == ("running", True)


@pytest.mark.parametrize("cursor", ["1763860000.123", "", "x", "1.a.zz", "1" * 20])
def test_an_invalid_updates_cursor_is_rejected(client: Client, cursor: str) -> None:
    answer = client.request("GET", "/api/updates", params={"after": cursor})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")


@pytest.mark.anyio
async def test_an_outcome_unknown_for_minutes_does_not_speed_up_polling(
    stage: Stage, services: Services, user_id: str
) -> None:
    question = await asked(services, user_id, INGESTION)
    cursor = (await updates(services, user_id, None)).cursor
    stage.app.misbehave("ingestion_waits")
    await approved(services, question)
    told = await updates(services, user_id, cursor)
    assert told.active
    stage.clock.advance(SOON_SECONDS)
    told = await updates(services, user_id, told.cursor)
    assert not told.active
    assert (await updates(services, user_id, told.cursor)).items == []
    stage.app.api.release()


@pytest.mark.anyio
async def test_updates_are_active_while_a_change_is_executed(stage: Stage, services: Services, user_id: str) -> None:
    question = await asked(services, user_id, INGESTION)
    cursor = (await updates(services, user_id, None)).cursor
    stage.app.misbehave("hold_before")
    carried_out = asyncio.create_task(approved(services, question))
    await asyncio.to_thread(until, lambda: stage.app.api.held)
    for _ in range(3):
        told = await updates(services, user_id, cursor)
        assert told.active
        cursor = told.cursor
    stage.app.api.release()
    await carried_out
