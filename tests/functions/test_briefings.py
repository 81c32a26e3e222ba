"""Briefings at the routes: when they come, what they show, and the one-click unsubscribe."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from pymongo import MongoClient

from infra.local.aws import AwsServer
from qwestly_agent.briefings.model import BriefingState
from qwestly_agent.briefings.writer import deliver, gather
from qwestly_agent.domain.interview import Ended, Interview
from qwestly_agent.domain.job import Application
from qwestly_agent.domain.memory import Memory, MemorySource
from qwestly_agent.interviews.machine import end
from qwestly_agent.interviews.service import Known, with_agenda
from qwestly_agent.interviews.writer import change
from qwestly_agent.memory.changes import keep
from qwestly_agent.memory.forget import forget
from qwestly_agent.stores.conversations import NewTurn
from tests.functions.approving import APPROVE_URL, World, a_world, local_aws
from tests.functions.talking import add_memory
from tests.killing import Death, Killed, deaths, mortal
from tests.servers import USER, ChatServer, Client, seconds

CHOSEN = {"on": True, "hour": 7, "minute": 30, "days": [0, 1, 2, 3, 4], "mail": False, "quiet": True}


def put(client: Client, **chosen: Any) -> Any:
    return client.request("PUT", "/api/briefings/settings", json=chosen)


def test_briefings_are_off_until_the_user_turns_them_on(client: Client) -> None:
    assert client.get("/api/briefings/settings") == {
        "on": False,
        "hour": 8,
        "minute": 0,
        "days": [0, 1, 2, 3, 4, 5, 6],
        "mail": True,
        "quiet": False,
        "time_zone": "UTC",
        "next": None,
    }
    assert client.get("/api/briefings") == {"items": [], "next": None}


def test_the_next_briefing_follows_the_chosen_hour_and_time_zone(client: Client) -> None:
    changed = put(client, **CHOSEN).json()
    assert {name: changed[name] for name in CHOSEN} == CHOSEN
    client.request("PUT", "/api/settings", json={"time_zone": "Asia/Tokyo"}).raise_for_status()
    moved = client.get("/api/briefings/settings")
    assert moved["time_zone"] == "Asia/Tokyo"
    assert (seconds(moved["next"]) + 9 * 3600) % 86_400 == 7.5 * 3600
    put(client, hour=9)
    assert (seconds(client.get("/api/briefings/settings")["next"]) + 9 * 3600) % 86_400 == 9.5 * 3600
    assert put(client, on=False).json()["next"] is None


@pytest.mark.parametrize("wrong", [{"hour": 24}, {"minute": -1}, {"days": []}, {"days": [7]}, {"user_id": "x"}])
def test_an_unknown_briefing_setting_is_rejected(client: Client, wrong: dict[str, Any]) -> None:
    assert put(client, **{"on": True, **wrong}).status_code == 422
    assert client.get("/api/briefings/settings")["on"] is False


def test_an_unsent_or_another_users_briefing_is_not_found(client: Client, chat: ChatServer) -> None:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        briefings = mongo[chat.settings.mongodb_database]["agent_briefings"]
        ids = {told: uuid.uuid4().hex for told in (True, False)}
        fields = {"run_id": "r", "day": "2026-11-23", "kind": "nothing", "created_at": 5.0, "since": None}
        rest = {"gathered": "{}", "before": "{}", "lines": "[]", "read_at": None, "mailed": "no", "schema_version": 1}
        for told, briefing_id in ids.items():
            at = 5.0 if told else None
            user = {"user_id": client.user_id, "unsubscribe": "hash-of-a-token"}
            briefings.insert_one({"_id": briefing_id, **user, **fields, **rest, "delivered_at": at})
    assert client.get(f"/api/briefings/{ids[True]}")["summary"] == "Nothing new."
    first = client.request("POST", f"/api/briefings/{ids[True]}/read").json()["read_at"]
    assert client.request("POST", f"/api/briefings/{ids[True]}/read").json()["read_at"] == first
    assert [each["id"] for each in client.get("/api/briefings")["items"]] == [ids[True]]
    assert client.request("GET", f"/api/briefings/{ids[False]}").status_code == 404
    with Client(chat.url, "auth0|somebody-else") as other:
        assert other.request("GET", f"/api/briefings/{ids[True]}").status_code == 404
        assert other.request("POST", f"/api/briefings/{ids[True]}/read").status_code == 404
    kept = client.get("/api/me/export")["collections"]["agent_briefings"]
    assert "hash-of-a-token" not in str(kept)
    client.request("DELETE", "/api/me")
    assert client.get("/api/briefings")["items"] == []


# --- on from the end of an onboarding ---------------------------------------------------------------------------------


@pytest.mark.parametrize("death", list(deaths(2)), ids=str)
def test_briefings_are_turned_on_although_onboarding_was_killed_at_its_end(world: World, death: Death) -> None:
    def over(interview: Interview) -> Interview:
        return end(with_agenda(interview, Known()), Ended(reason="asked"))

    async def work(services: Any) -> tuple[Any, Any]:
        await services.conversations.create(
            USER, "chat_1", NewTurn("run", "m1", "Hi", world.clock()), "default", "onboarding"
        )
        with pytest.raises(Killed):
            await change(mortal(services, death), USER, "chat_1", over)
        ended = (await services.interviews.get(USER, "chat_1")).ended
        assert not ended or (await services.briefing_plans.get(USER)).next
        await change(services, USER, "chat_1", over)
        return await services.interviews.get(USER, "chat_1"), await services.briefing_plans.get(USER)

    interview, plan = world.run(work)
    assert interview.ended
    assert plan.settings.on
    assert plan.next


# --- the mail ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def aws() -> Iterator[AwsServer]:
    with local_aws() as server:
        yield server


@pytest.fixture
def world(aws: AwsServer, mongodb_uri: str, database_name: str) -> Iterator[World]:
    with a_world(aws, mongodb_uri, database_name) as world:
        yield world


def is_mailed(world: World, briefing_id: str = "brief-1") -> Any:
    async def work(services: Any) -> None:
        await services.briefing_plans.change(USER, {"on": True}, world.clock())
        await add_memory(services, USER, world.clock())
        given = BriefingState(user_id=USER, run_id=briefing_id, briefing_id=briefing_id, day="2026-11-23")
        given = await gather(services, given)
        await deliver(services, given)
        await deliver(services, given)  # a second delivery

    world.run(work)


def settings_of(world: World) -> Any:
    return world.run(lambda services: services.briefing_plans.get(USER)).settings


def test_the_one_click_unsubscribe_ends_only_the_mails(world: World) -> None:
    is_mailed(world)
    [mail] = world.aws.outbox
    link = mail.text.rpartition(f"{APPROVE_URL}/unsubscribe/")[2].split()[0]
    path = f"{urlsplit(APPROVE_URL).path}/unsubscribe/{link}"
    for method in ("GET", "HEAD", "OPTIONS"):
        assert world.ask_page(method, path).status in (200, 204)
        assert settings_of(world).mail, "a scanner follows links"
    before = settings_of(world)
    shown = world.ask_page("POST", path, b"List-Unsubscribe=One-Click")
    assert shown.status == 200
    assert "no more briefings by mail" in shown.text
    assert settings_of(world) == before.model_copy(update={"mail": False})
    world.ask_page("POST", path, b"List-Unsubscribe=One-Click")
    ended = [*world.database["agent_activity"].find({"user_id": USER, "type": "briefing.mails_ended"})]
    assert [each["severity"] for each in ended] == ["warning"], "its user is told in the app, once"
    world.clock.advance(86_400)
    is_mailed(world, "brief-2")
    assert len(world.aws.outbox) == 1


def test_the_first_briefing_mail_explains_how_to_turn_them_off(world: World) -> None:
    is_mailed(world)
    world.clock.advance(86_400)
    is_mailed(world, "brief-2")
    first, second = world.aws.outbox
    assert first.subject == "Your first briefing: 1 thing was remembered"
    for text in (first.text, first.html):
        assert "One comes each day at 8:00 AM (UTC)." in text
        assert "To switch them off" in text
    assert second.subject == "Your briefing: 2 things were remembered"
    assert "To switch them off" not in second.text


def test_an_invalid_unsubscribe_link_ends_nothing(world: World) -> None:
    is_mailed(world)
    assert world.ask_page("POST", f"/approve/unsubscribe/{'x' * 43}").status == 404
    assert settings_of(world).mail


def test_over_the_daily_mail_limit_a_briefing_appears_only_in_the_app(world: World) -> None:
    world.database["agent_sweeps"].insert_one({"_id": f"briefing mails {_today(world)}", "position": 40_000})
    is_mailed(world)
    assert world.aws.outbox == []
    [told] = world.run(lambda services: services.briefings.newest(USER, 5))
    assert told.mailed == "paced"


def test_a_next_step_with_forgotten_content_is_removed_from_briefings(world: World) -> None:
    words = "Ask Maria Santos about the salary of the night shift"

    async def work(services: Any) -> list[str]:
        now = world.clock()
        new = {"status": "applied", "next_step": words, "next_at": now - 1, "created_at": now, "updated_at": now}
        await services.applications.add_or_get(
            Application(id="app_1", user_id=USER, job_id="job_1", title="Nurse", **new)
        )
        given = BriefingState(user_id=USER, run_id="brief-1", briefing_id="brief-1", day="2026-11-23")
        await deliver(services, await gather(services, given))
        source = MemorySource(conversation_id="chat_1", message_ids=("m1",))
        await keep(
            services, USER, Memory(id="mem_1", type="fact", content=words, quote=words, source=source), [1], None
        )
        told = [(await services.briefings.get(USER, "brief-1")).model_dump_json()]
        await forget(services, USER, ["mem_1"])
        return [*told, (await services.briefings.get(USER, "brief-1")).model_dump_json()]

    before, after = world.run(work)
    assert f"Nurse: {words}" in before
    assert words not in after
    assert "Your application was sent: Nurse" in after


def _today(world: World) -> str:
    return datetime.fromtimestamp(world.clock(), UTC).date().isoformat()
