"""Traces of turns, as a collector gets them: one tree per run, no user content, and nothing at all while they are
off."""

import logging
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

import httpx2
import pytest
from pymongo import MongoClient

from infra.local.candidate_app import CandidateAppServer
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.base.observability import SERVICE, make_logger
from qwestly_agent.base.settings import Secrets
from qwestly_agent.base.traces import Traces, trace_ids_of
from tests.collector import Collector, Received
from tests.servers import ChatServer, Client, FakeClock, settings_for

SAID = "My sister Ottilie says I should be Head of Product."
TOOLS = ["get_user_profile", "query_user_knowledge", "update_profile_field"]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


@contextmanager
def traced(chat: ChatServer, collector: Collector, **settings: Any) -> Iterator[Client]:
    """A user of a server that sends traces."""
    given = replace(chat.settings, traces_url=collector.url, **settings)
    with ChatServer(given) as server, Client(server.url, f"auth0|{uuid.uuid4().hex}") as user:
        with MongoClient(chat.settings.mongodb_uri) as mongo:
            candidates = mongo[chat.settings.mongodb_database]["candidates_enhanced"]
            candidates.insert_one({"_id": user.user_id, "user_id": user.user_id, "headline": "Product Manager"})
        yield user


def calls_three_tools(model: ModelServer) -> None:
    change = {"field": "headline", "value": "Head of Product", "rationale": "Ottilie says so."}
    model.script_chat(
        Reply(tool_calls=[{"name": "get_user_profile", "arguments": {}}]),
        Reply(tool_calls=[{"name": "query_user_knowledge", "arguments": {"only": "memories", "query": "Ottilie"}}]),
        Reply(tool_calls=[{"name": "update_profile_field", "arguments": change}]),
    )


def run_of(collector: Collector) -> tuple[str, Received]:
    [turn] = [span for span in collector.spans if span.name == "turn"]
    return turn.attributes["qwestly.run_id"], turn


def below(collector: Collector, parent: Received) -> list[Received]:
    children = [span for span in collector.spans if span.parent_id == parent.id]
    return [each for child in children for each in (child, *below(collector, child))]


@pytest.mark.thorough
def test_a_turn_its_approval_and_its_rating_form_one_trace(
    chat: ChatServer, app: CandidateAppServer, model: ModelServer, collector: Collector
) -> None:
    calls_three_tools(model)
    with traced(chat, collector) as user:
        answer = user.say(SAID)
        run_id, turn = run_of(collector)
        assert turn.trace_id == f"{trace_ids_of(run_id)[0]:032x}"
        assert turn.id == f"{trace_ids_of(run_id)[1]:016x}"
        [approval] = [event.data for event in answer.events if event.name == "approval_required"]
        decision = {"decision": "approve", "args_digest": approval["args_digest"]}
        path = f"/api/approvals/{approval['approval_id']}/decision"
        assert user.request("POST", path, json=decision).json()["status"] == "done"
        user.request("POST", f"/api/messages/msg_{run_id}/feedback", json={"thumb": "up", "words": "Ottilie agrees"})
    assert {span.trace_id for span in collector.spans} == {turn.trace_id}
    assert {span.id for span in below(collector, turn)} == {span.id for span in collector.spans} - {turn.id}
    named = [span.attributes.get("gen_ai.tool.name") for span in collector.spans]
    assert [name for name in named if name] == TOOLS
    [done] = [span for span in collector.spans if span.name == "execute approval"]
    assert done.attributes["qwestly.tool"] == "update_profile_field"
    [thumb] = [span for span in collector.spans if span.name == "feedback"]
    assert thumb.attributes == {"qwestly.thumb": "up"}


@pytest.mark.thorough
def test_traces_contain_no_user_content_unless_configured(
    chat: ChatServer, app: CandidateAppServer, model: ModelServer, collector: Collector
) -> None:
    calls_three_tools(model)
    with traced(chat, collector) as user:
        user.say(SAID)
    assert b"Ottilie" not in b"".join(collector.raw)
    assert b"Product Manager" not in b"".join(collector.raw)
    collector.raw.clear()
    calls_three_tools(model)
    with traced(chat, collector, traces_content=1) as user:
        user.say(SAID)
    assert b"Ottilie" in b"".join(collector.raw)


@pytest.mark.thorough
def test_a_failed_turns_trace_names_the_error_without_user_content(
    chat: ChatServer, model: ModelServer, collector: Collector
) -> None:
    model.fault = Reply(fault=400)
    with traced(chat, collector) as user:
        assert user.say(SAID).last.name == "error"
    _, turn = run_of(collector)
    assert turn.failed
    assert turn.attributes["qwestly.status"] == "failed"
    events = [event for span in collector.spans for event in span.events]
    assert events
    assert {name for event in events for name in event} <= {"exception.type", "exception.escaped"}


@pytest.mark.thorough
def test_the_configured_headers_are_sent_to_the_collector(
    chat: ChatServer, model: ModelServer, collector: Collector
) -> None:
    collector.headers = {"authorization": "Basic abc=", "x-project": "agent"}
    with traced(chat, collector, traces_headers="Authorization=Basic abc=,X-Project=agent") as user:
        user.say("Hello")
    assert run_of(collector)[1].attributes["qwestly.status"] == "complete"


@pytest.mark.thorough
def test_a_silent_collector_delays_no_answer(chat: ChatServer, model: ModelServer, collector: Collector) -> None:
    collector.answers.clear()
    with traced(chat, collector) as user, user.open({"message": "Hello"}) as events:
        assert [event.name for event in events][-1] == "done"


@pytest.mark.anyio
async def test_invalid_collector_headers_fail_no_turn(collector: Collector) -> None:
    settings = settings_for("", "", traces_url=collector.url, traces_headers="X-Key=\u2603")
    logger = make_logger("CRITICAL")
    async with httpx2.AsyncClient() as http:
        traces = Traces(http, Secrets(lambda: settings, settings, FakeClock(), logger), logger)
        with traces.child_span("lost", "run-1", {}):
            pass
        await traces.flush()
    assert collector.spans == []


def nonsense(*_: Any, **__: Any) -> NoReturn:
    raise RuntimeError("What no exporter should say")


@pytest.mark.thorough
@pytest.mark.parametrize("broken", ["encoder", "request", "secrets"])
def test_an_exporter_error_is_logged_and_fails_no_turn(
    chat: ChatServer,
    model: ModelServer,
    collector: Collector,
    broken: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    encoder = "opentelemetry.exporter.otlp.proto.common.trace_encoder.encode_spans"
    collector.headers = {"authorization": "of a key that was rotated"}
    with traced(chat, collector) as user:
        caplog.set_level(logging.WARNING, logger=SERVICE)
        match broken:
            case "encoder":
                monkeypatch.setattr(encoder, nonsense)
            case "request":
                monkeypatch.setattr(Traces, "_send", nonsense)
            case _:
                monkeypatch.setattr(Secrets, "renew", nonsense)
        answers = [user.say("Hello") for _ in range(2)]
    assert [answer.last.name for answer in answers] == ["done", "done"]
    assert collector.spans == []
    assert [each.msg for each in caplog.records].count("traces could not be sent") == 2


LOOK = """
import asyncio, sys
from functions.approve import clock
from functions.chat import app
from functions.generate import reader
from qwestly_agent.bootstrap import bootstrap_chat
from tests.servers import settings_for

async def start():
    await (await bootstrap_chat(settings_for("mongodb://127.0.0.1:1", "http://127.0.0.1:1/v1"))).close()

asyncio.run(start())
print([each for each in sys.modules if each.startswith(("opentelemetry.sdk", "opentelemetry.exporter", "google."))])
"""


@pytest.mark.nightly
@pytest.mark.thorough
def test_the_exporter_is_not_imported_while_traces_are_off() -> None:
    assert subprocess.check_output([sys.executable, "-c", LOOK], text=True) == "[]\n"
