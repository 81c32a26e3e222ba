"""What CloudWatch is told of a turn."""

import json
from typing import Any

import pytest

from infra.local.model_brain import ToolCall
from infra.local.model_server import ModelServer, Reply
from tests.servers import Client


def metrics_of(written: str) -> dict[str, Any]:
    """The one line of the embedded metric format."""
    [line] = [json.loads(line) for line in written.splitlines() if '"_aws"' in line]
    return line


def test_a_turn_is_one_line_of_metrics(client: Client, model: ModelServer, capsys: pytest.CaptureFixture[str]) -> None:
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
    assert (declared["Namespace"], line["service"]) == ("QwestlyAgent", "qwestly-agent")
    units = {each["Name"]: each["Unit"] for each in declared["Metrics"]}
    assert units["FirstTextLatency"] == units["TurnLatency"] == "Milliseconds"
    value = {name: line[name][0] for name in units}
    assert (value["Turns"], value["FailedTurns"], value["StoppedTurns"]) == (1, 0, 0)
    assert (value["ToolCalls"], value["ToolErrors"], value["ToolRefusals"]) == (3, 1, 1)
    assert value["InputTokens"] > value["OutputTokens"] > 0
    assert 0 < value["CostUsd"] < 0.05
    assert 0 <= value["FirstTextLatency"] <= value["TurnLatency"]


def test_a_turn_that_failed_counts_as_one(
    client: Client, model: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    model.script(*[Reply(fault=500)] * 2)
    client.say("Hello")
    line = metrics_of(capsys.readouterr().out)
    assert (line["Turns"], line["FailedTurns"]) == ([1], [1])
    assert "FirstTextLatency" not in line
