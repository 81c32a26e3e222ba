"""A workflow's states, model calls and executed effects are below the run that started it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn
from urllib.parse import urlencode

import pytest

from infra.local.environment import ACCOUNT, REGION
from infra.local.model_server import Json, ModelServer, Reply, ToolCall
from qwestly_agent import container
from qwestly_agent.base import traces
from qwestly_agent.base.settings import Settings
from qwestly_agent.base.traces import trace_ids_of
from qwestly_agent.domain.approval import MAIL_AFTER_SECONDS
from tests.collector import Collector, Received
from tests.functions.approving import event_of
from tests.servers import SECRET, ChatServer, Client, until
from tests.statemachines.conftest import TEMPLATE, Person, World

EXECUTIONS = f"arn:aws:states:{REGION}:{ACCOUNT}:execution:{TEMPLATE.name('GenerateCardMachine')}"
TOOLS: dict[str, Json] = {
    "get_user_profile": {},
    "query_user_knowledge": {"query": "goals"},
    "generate_qwestly_card": {},
}


@pytest.fixture
def collector(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """A new collector for the containers' spans."""
    both = (container.services, container.resume_services)
    with Collector() as collector:
        monkeypatch.setenv("TRACES_URL", collector.url)
        monkeypatch.setattr(traces, "FLUSH_SECONDS", 30)
        for each in both:
            each.close()
        yield collector
    monkeypatch.delenv("TRACES_URL")
    for each in both:
        each.close()


@pytest.mark.sentinel
@pytest.mark.thorough
def test_a_cards_trace_is_one_tree_from_evidence_to_publication(maya: Person, collector: Collector) -> None:
    maya.wants_a_card()
    maya.is_asked()
    maya.decides("approve")
    assert maya.outcome() == ("SUCCEEDED", "published")
    trace_id, first_id = trace_ids_of(maya.draft().run_id)
    spans = [span for span in collector.spans if span.trace_id == f"{trace_id:032x}"]
    names = [span.name for span in spans]
    assert {"gather_evidence", "draft_section", "keep_draft", "publish", "execute approval"} <= {*names}
    assert names.count("draft_section") > 1
    assert any("gen_ai.request.model" in span.attributes for span in spans)
    known = {f"{first_id:016x}", *(span.id for span in spans)}
    assert {span.parent_id for span in spans} <= known
    [published] = [span for span in spans if span.name == "publish"]
    assert [span.name for span in spans if span.parent_id == published.id] == ["execute approval"]


def nonsense(*_: Any, **__: Any) -> NoReturn:
    raise RuntimeError("What no exporter should say")


@pytest.mark.thorough
def test_an_exporters_exception_fails_no_state(
    ada: Person, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opentelemetry.exporter.otlp.proto.common.trace_encoder.encode_spans", nonsense)
    ada.is_at("L0")
    ada.wants_a_card()
    assert ada.outcome() == ("SUCCEEDED", "drafted")
    assert collector.spans == []


@pytest.mark.thorough
def test_the_trace_of_a_turn_its_card_and_the_mailed_approval_is_one_tree(
    maya: Person, model: ModelServer, collector: Collector
) -> None:
    world, mailed = maya.world, len(maya.world.aws.outbox)
    calls: list[ToolCall] = [{"name": name, "arguments": arguments} for name, arguments in TOOLS.items()]
    model.script_chat(*(Reply(tool_calls=[call]) for call in calls))
    settings = replace(Settings.from_env(), qwestly_agent_shared_secret=SECRET)
    with ChatServer(settings, clock=world.clock) as chat, Client(chat.url, maya.user_id, world.clock) as user:
        assert user.say("Look at my profile and my goals, and draft my card.").last.name == "done"
    maya.draft_id = world.database["agent_drafts"].find_one({"user_id": maya.user_id})["_id"]
    maya.is_asked()

    def is_mailed() -> bool:
        world.clock.advance(MAIL_AFTER_SECONDS)
        invoke(world, "ApproveClockFunction")
        return len(world.aws.outbox) > mailed

    until(is_mailed)
    link = world.aws.outbox[-1].text.partition("/approve/")[2].split()[0]
    page = invoke(world, "ApprovePagesFunction", event_of("GET", f"/approve/{link}"))["body"]
    digest = page.partition('name="args_digest" value="')[2].partition('"')[0]
    form = urlencode({"decision": "approve", "args_digest": digest, "reason": ""}).encode()
    assert invoke(world, "ApprovePagesFunction", event_of("POST", f"/approve/{link}", form))["statusCode"] == 200
    assert world.aws.outcome(f"{EXECUTIONS}:card-{maya.draft_id}").status == "SUCCEEDED"
    assert maya.asked().decided_by == "link"

    [turn] = [span for span in collector.spans if not span.parent_id]
    assert turn.name == "turn"
    assert {span.trace_id for span in collector.spans} == {turn.trace_id}
    assert {span.id for span in below(collector, turn)} == {span.id for span in collector.spans} - {turn.id}
    tree = collector.tree(turn)["turn"]
    [answer] = [each["invoke_agent default"] for each in tree if "invoke_agent default" in each]
    assert [name for each in answer for name in each if name.startswith("execute_tool")] == [
        f"execute_tool {name}" for name in TOOLS
    ]
    later = [name for each in tree for name in each if name not in ("invoke_agent default", "draft_section")]
    steps = [
        "gather_evidence",
        "keep_draft",
        "ask_approval",
        "mail approval",
        "decide approval",
        "read_decision",
        "publish",
    ]
    assert sorted(later) == sorted(steps)
    assert {"publish": [{"execute approval": []}]} in tree
    [decided] = [span for span in collector.spans if span.name == "decide approval"]
    assert (decided.attributes["qwestly.by"], decided.attributes["qwestly.status"]) == ("link", "approved")


def below(collector: Collector, parent: Received) -> list[Received]:
    children = [span for span in collector.spans if span.parent_id == parent.id]
    return [each for child in children for each in (child, *below(collector, child))]


def invoke(world: World, function: str, event: object = None) -> dict[str, Any]:
    answer = world.aws.invoke(TEMPLATE.name(function), event)
    assert not answer.failed, answer.payload
    return json.loads(answer.payload)
