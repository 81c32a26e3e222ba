"""CloudWatch metrics of turns, of other model requests, and of waiting work."""

import json
from dataclasses import replace
from typing import Any

import pytest

from infra.local.model_answers import ToolCall
from infra.local.model_faults import Fault
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.base.errors import AgentError, ModelRefused
from qwestly_agent.domain.approval import EVERYBODY
from tests.functions.approving import CARD, HOUR, ONE, TWO, World
from tests.functions.talking import talking
from tests.functions.test_approve_sweep import decided
from tests.servers import ChatServer, Client

STACK = "qwestly-agent-test"


@pytest.fixture(autouse=True)
def _of_a_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", STACK)


def metrics_of(written: str) -> dict[str, Any]:
    """Return the one line in the embedded metric format."""
    [line] = _lines(written)
    return line


def test_a_turn_writes_one_line_of_metrics(
    client: Client, model: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    good: ToolCall
    bad: ToolCall
    good, bad = (
        {"name": "query_qwestly_docs", "arguments": {"query": "x"}},
        {"name": "query_qwestly_docs", "arguments": {}},
    )
    model.script(Reply(tool_calls=[good, bad, {"name": "no_such_tool", "arguments": {}}]), Reply(text="So."))
    client.say("Prices?")
    line = metrics_of(capsys.readouterr().out)
    [declared] = line["_aws"]["CloudWatchMetrics"]
    assert (declared["Namespace"], declared["Dimensions"]) == ("QwestlyAgent", [["service"]])
    assert line["service"] == STACK, "several may share an account"
    units = {each["Name"]: each["Unit"] for each in declared["Metrics"]}
    assert units["FirstTextLatency"] == units["TurnLatency"] == "Milliseconds"
    value = {name: line[name][0] for name in units}
    assert (value["Turns"], value["FailedTurns"], value["StoppedTurns"]) == (1, 0, 0)
    assert (value["ToolCalls"], value["ToolErrors"], value["ToolRefusals"]) == (3, 1, 1)
    assert value["InputTokens"] > value["OutputTokens"] > 0
    assert 0 < value["CostUsd"] < 0.05
    assert 0 <= value["FirstTextLatency"] <= value["TurnLatency"]


@pytest.mark.thorough
def test_a_failed_turn_counts_as_failed(client: Client, model: ModelServer, capsys: pytest.CaptureFixture[str]) -> None:
    model.script(*[Reply(fault=500)] * 2)
    client.say("Hello")
    line = metrics_of(capsys.readouterr().out)
    assert (line["Turns"], line["FailedTurns"]) == ([1], [1])
    assert "FirstTextLatency" not in line


@pytest.mark.thorough
@pytest.mark.parametrize(("fault", "counted"), [(400, 1), (401, 1), (402, 1), (404, 1), ("content_risk", 0), (500, 0)])
def test_a_provider_rejection_that_affects_all_users_is_counted_by_model(
    client: Client, model: ModelServer, capsys: pytest.CaptureFixture[str], fault: Fault, counted: int
) -> None:
    model.script(*[Reply(fault=fault)] * 2)
    client.say("Hello")
    refusals = refusals_in(capsys.readouterr().out)
    assert [(each["ModelRefused"], each["service"]) for each in refusals] == [([1], STACK)] * counted
    assert [(each["model"], each["status"]) for each in refusals] == [("deepseek:deepseek-flash", fault)] * counted


def test_a_provider_rejection_is_counted_even_if_another_provider_answers(
    chat: ChatServer, client: Client, model: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = replace(chat.settings, model_fallback="openai:gpt-4.1-mini")
    model.script(Reply(fault=401), Reply(text="Here I am."))
    with ChatServer(settings) as server, Client(server.url, client.user_id) as user:
        assert user.say("Hello").text == "Here I am."
    [refusal] = refusals_in(capsys.readouterr().out)
    assert refusal["model"] == "deepseek:deepseek-flash"


@pytest.mark.anyio
async def test_a_provider_rejection_outside_a_turn_is_counted(
    model: ModelServer, mongodb_uri: str, database_name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with talking(mongodb_uri, database_name, model) as talk:
        await talk.says("I live in Lisbon.")
        model.fault = Reply(fault=401)
        with pytest.raises(ModelRefused):
            await talk.falls_silent()
        model.fault, model.embeddings_fault = None, 403
        talk.clock.advance(3_600)
        with pytest.raises(ModelRefused):
            await talk.falls_silent()
    refusals = refusals_in(capsys.readouterr().out)
    assert [(each["model"], each["status"]) for each in refusals] == [
        ("deepseek:deepseek-flash", 401),
        *[("openai:text-embedding-3-small", 403)] * 2,  # for the typed words, and for the notes
    ]


def refusals_in(written: str) -> list[dict[str, Any]]:
    return [line for line in _lines(written) if "ModelRefused" in line]


@pytest.mark.anyio
async def test_the_cost_of_a_model_request_outside_a_turn_is_counted(
    model: ModelServer, mongodb_uri: str, database_name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with talking(mongodb_uri, database_name, model) as talk:
        await talk.says("I live in Lisbon.")
        await talk.services.usage.begin_turn(talk.user_id, "run", talk.clock())
        assert '"_aws"' not in capsys.readouterr().out
        await talk.falls_silent()
        costs = [line["CostUsd"] for line in _lines(capsys.readouterr().out) if "CostUsd" in line]
        assert all(cost > 0 for [cost] in costs)
        assert len(costs) == 2  # extractor and judge
        assert sum(cost for [cost] in costs) == pytest.approx(
            await talk.services.usage.spent_today(talk.user_id, talk.clock())
        )


@pytest.mark.anyio
async def test_the_cost_of_a_failed_model_request_is_counted(
    model: ModelServer, mongodb_uri: str, database_name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with talking(mongodb_uri, database_name, model) as talk:
        await talk.says("I live in Lisbon.")
        model.script(*[Reply(text="That is no list.")] * 9)
        with pytest.raises(AgentError):
            await talk.falls_silent()
        [cost] = [line["CostUsd"] for line in _lines(capsys.readouterr().out) if "CostUsd" in line]
        assert cost[0] > 0


def test_the_sweep_reports_the_age_of_the_oldest_pending_approval(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.sweep()
    assert _waiting(capsys) == (0, 0)
    world.ask(ONE)
    world.clock.advance(HOUR)
    world.ask(TWO, CARD)
    world.sweep()
    assert _waiting(capsys) == (HOUR, 0)
    decided(world, "approve", ONE)  # and not yet executed: it does not wait for the user
    world.sweep()
    assert _waiting(capsys) == (0, 0)


def test_the_sweep_reports_whether_the_brake_for_all_users_is_on(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.pull_brake()  # a user's own brake rings no alarm
    world.sweep()
    assert _waiting(capsys) == (0, 0)
    world.run(lambda services: services.signals.turn_brake_on(EVERYBODY, world.clock()))
    world.sweep()
    assert _waiting(capsys) == (0, 1)


def _waiting(capsys: pytest.CaptureFixture[str]) -> tuple[float, float]:
    line = metrics_of(capsys.readouterr().out)
    return line["OldestApproval"][0], line["EverybodyBraked"][0]


def _lines(written: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.splitlines() if '"_aws"' in line]
