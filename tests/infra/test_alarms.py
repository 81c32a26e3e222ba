"""Alarms and the dashboard use metrics that exist, and every failure has an alarm."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from qwestly_agent.base.observability import (
    measure_answer,
    measure_briefing,
    measure_consolidation,
    measure_extraction,
    measure_left,
    measure_planted_lie,
    measure_refusal,
    measure_refused_mail,
    measure_rollout,
    measure_set_aside,
    measure_stage_over_budget,
    measure_turn,
    measure_waiting,
)
from tests.infra.test_template import FUNCTIONS, MACHINE, PARAMETERS, TEMPLATE, resources

Metric = tuple[str, str, str]
"""Namespace, name, and its one dimension."""

ALARMS = resources("AWS::CloudWatch::Alarm")
QUEUES = resources("AWS::SQS::Queue")
MACHINES = resources(MACHINE)
STACK = "AWS::StackName"
MEASURED_BY_AWS: set[Metric] = {
    *(("AWS/Lambda", name, "FunctionName") for name in ("Errors", "Throttles", "Duration", "ConcurrentExecutions")),
    *(("AWS/States", f"Executions{how}", "StateMachineArn") for how in ("Succeeded", "Failed", "TimedOut", "Aborted")),
    ("AWS/Lambda", "Url5xxCount", "FunctionName"),
    ("AWS/SES", "Reputation.ComplaintRate", "ses:configuration-set"),
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName"),
}
"""AWS's own metrics that we use. Their dimensions are our resources; our own metrics have the stack's."""
MOST_METRICS = 10
"""AWS's limit of an alarm."""


@pytest.fixture
def measured_by_us(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> set[Metric]:
    """Return the metrics of our log lines, as CloudWatch reads them."""
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "a-stack")
    tokens = {"input_tokens": 1, "cached_tokens": 1, "output_tokens": 1}
    measure_turn("complete", {**tokens, "cost_usd": 0.1, "first_text_ms": 1, "total_ms": 2}, {})
    measure_extraction(["add"], 0, 0, {"not_said": 1})
    measure_consolidation(1, 1, 1, 0, 0)
    measure_answer(0.1)
    measure_refusal("deepseek:deepseek-flash", 401)
    measure_waiting(1, False, left=1, oldest_left=1)
    measure_left("Conversations", 1, 1)
    measure_left("Memories", 1, 1)
    measure_left("Briefings", 1, 1)
    measure_left("Jobs", 1, 1)
    measure_left("Steps", 1, 1)
    measure_briefing("lite")
    measure_planted_lie("a-model", "figure", "en", passed=True, judge_errs=True)
    measure_refused_mail()
    measure_set_aside()
    measure_stage_over_budget()
    for variant in ("brief", "base"):
        more = {"variant": variant, "own_first_text_ms": 1}
        measure_turn("complete", {**tokens, **more, "cost_usd": 0.1, "first_text_ms": 1, "total_ms": 2}, {})
    measure_rollout()
    return set(_declared(capsys.readouterr().out))


def _declared(written: str) -> Iterator[Metric]:
    for line in map(json.loads, written.splitlines()):
        for each in line["_aws"]["CloudWatchMetrics"]:
            [[dimension]] = each["Dimensions"]
            assert line[dimension] == "a-stack"
            yield from ((each["Namespace"], metric["Name"], dimension) for metric in each["Metrics"])


def metrics_of(alarm: dict[str, Any]) -> list[tuple[Metric, Any]]:
    """Each with what it is of."""
    stats = [each["MetricStat"]["Metric"] for each in alarm.get("Metrics", []) if "MetricStat" in each] or [alarm]
    return [
        ((each["Namespace"], each["MetricName"], dimension["Name"]), dimension["Value"])
        for each in stats
        for dimension in each["Dimensions"]
    ]


def watched(name: str) -> list[Any]:
    """Everything for which an alarm uses this metric."""
    return [of["Ref"] for alarm in ALARMS.values() for metric, of in metrics_of(alarm) if metric[1] == name]


# --- alarms -----------------------------------------------------------------------------------------------------------


def test_each_alarm_uses_an_existing_metric(measured_by_us: set[Metric]) -> None:
    for name, alarm in ALARMS.items():
        for metric, of in metrics_of(alarm):
            if metric in MEASURED_BY_AWS:
                assert (of.get("Ref") or of["Fn::GetAtt"].partition(".")[0]) in TEMPLATE["Resources"], name
            else:
                assert (metric in measured_by_us, of) == (True, {"Ref": STACK}), name


def test_each_alarm_has_a_recipient_and_defines_missing_data() -> None:
    topic = {"Ref": "Alarms"}
    for name, alarm in ALARMS.items():
        assert alarm["AlarmActions"] == alarm["OKActions"] == [topic], name
        assert alarm["TreatMissingData"] in ("notBreaching", "breaching", "ignore"), name
        assert alarm["AlarmDescription"], name
    [subscription] = resources("AWS::SNS::Subscription").values()
    assert (subscription["TopicArn"], subscription["Endpoint"]) == (topic, {"Ref": "AlarmAddress"})
    assert TEMPLATE["Resources"]["AlarmsSubscription"]["Condition"] == "SomebodyIsTold"
    assert PARAMETERS["AlarmAddress"]["Default"] == ""


def test_a_metric_math_alarm_returns_one_value_from_its_metrics() -> None:
    for name, alarm in ALARMS.items():
        assert len([each for each in alarm["Metrics"] if "MetricStat" in each]) <= MOST_METRICS, name
        [answered] = [each["Id"] for each in alarm["Metrics"] if each.get("ReturnData", True)]
        expressions = [str(each["Expression"]) for each in alarm["Metrics"] if "Expression" in each]
        words = {word for each in expressions for word in re.findall(r"\b[a-z]\w*", each)}
        if words:
            assert words == {each["Id"] for each in alarm["Metrics"]} - {answered}, name


def test_each_functions_errors_raise_an_alarm() -> None:
    assert sorted(watched("Errors")) == sorted(FUNCTIONS)


def test_a_throttled_function_alarms_at_once_at_a_url_and_later_elsewhere() -> None:
    assert sorted(watched("Throttles")) == sorted(FUNCTIONS)
    at_urls = {of["Ref"] for _, of in metrics_of(ALARMS["DoorsThrottled"])}
    assert at_urls == {name for name, function in FUNCTIONS.items() if "FunctionUrlConfig" in function}
    periods = {name: alarm["EvaluationPeriods"] for name, alarm in ALARMS.items() if name.endswith("Throttled")}
    assert periods.pop("DoorsThrottled") == 1
    assert set(periods.values()) == {3}


def test_a_5xx_from_any_url_raises_an_alarm() -> None:
    assert sorted(watched("Url5xxCount")) == sorted(
        name for name, function in FUNCTIONS.items() if "FunctionUrlConfig" in function
    )


@pytest.mark.parametrize("how", ["Failed", "TimedOut", "Aborted"])
def test_failed_executions_of_each_machine_raise_an_alarm(how: str) -> None:
    assert sorted(watched(f"Executions{how}")) == sorted(MACHINES)


def test_a_message_in_any_queue_raises_an_alarm() -> None:
    looked_at = [
        of["Fn::GetAtt"].removesuffix(".QueueName")
        for alarm in ALARMS.values()
        for metric, of in metrics_of(alarm)
        if metric[0] == "AWS/SQS"
    ]
    assert looked_at == list(QUEUES)


def test_queues_and_alarm_messages_are_encrypted() -> None:
    assert all(queue["SqsManagedSseEnabled"] is True for queue in QUEUES.values())
    assert all(topic["KmsMasterKeyId"] == {"Ref": "AlarmsKey"} for topic in resources("AWS::SNS::Topic").values())
    speakers = resources("AWS::KMS::Key")["AlarmsKey"]["KeyPolicy"]["Statement"][1]
    assert speakers["Principal"] == {"Service": "cloudwatch.amazonaws.com"}, "AWS's own key would not let it in"


def test_one_refused_model_request_raises_an_alarm() -> None:
    alarm = ALARMS["ModelRefused"]
    [(metric, _)] = metrics_of(alarm)
    assert (metric[1], alarm["Threshold"], alarm["EvaluationPeriods"]) == ("ModelRefused", 0, 1)


def test_a_slow_turn_raises_an_alarm_long_before_its_deadline() -> None:
    metrics = {each["Id"]: each for each in ALARMS["TurnsFail"]["Metrics"]}
    assert metrics["slow"]["MetricStat"]["Stat"] == "p95"
    [milliseconds] = re.findall(r"slow > (\d+)", metrics["late"]["Expression"])
    assert FUNCTIONS["ChatFunction"]["Timeout"] * 1000 > int(milliseconds) == 200_000


def test_missing_sweep_metrics_raise_an_alarm() -> None:
    rings_by_silence = {
        "ApprovalsWait": "ApproveSweepSchedule",
        "BriefingsWait": "BriefSweepSchedule",
        "MemoriesWait": "ExtractMemoriesSchedule",
        "JobsWait": "ScoutSweepSchedule",
        "RolloutHeld": "RolloutSchedule",
    }
    assert {name for name, each in ALARMS.items() if each["TreatMissingData"] == "breaching"} == {*rings_by_silence}
    for name, schedule in rings_by_silence.items():
        assert TEMPLATE["Resources"][name]["DependsOn"] == schedule, "or it rings before the first sweep"


# --- the dashboard ----------------------------------------------------------------------------------------------------


def widgets(kind: str) -> list[dict[str, Any]]:
    [dashboard] = resources("AWS::CloudWatch::Dashboard").values()
    body, variables = dashboard["DashboardBody"]["Fn::Sub"]
    for name, value in variables.items():
        body = body.replace(f"${{{name}}}", value["Fn::Sub"])
    return [each["properties"] for each in json.loads(body)["widgets"] if each["type"] == kind]


def shown(rows: Sequence[Sequence[Any]]) -> Iterator[Sequence[str]]:
    """Namespace, name, dimension and resource, with omitted fields taken from the row above."""
    above: list[str] = []
    for row in rows:
        said = [each for each in row if isinstance(each, str)]
        if not said:
            continue  # an expression
        if said[0] == "...":
            said = [*above[: len(above) - len(said) + 1], *said[1:]]
        above = [above[place] if each == "." else each for place, each in enumerate(said)]
        yield above


def test_the_dashboard_shows_only_existing_metrics(measured_by_us: set[Metric]) -> None:
    for widget in widgets("metric"):
        for namespace, name, dimension, of in shown(widget["metrics"]):
            metric, [named] = (namespace, name, dimension), re.findall(r"^\$\{([\w:]+)(?:\.QueueName)?\}$", of)
            if metric in MEASURED_BY_AWS:
                assert named in TEMPLATE["Resources"], widget["title"]
            else:
                assert (metric in measured_by_us, named) == (True, STACK), widget["title"]


def test_the_dashboard_shows_every_alarm_function_and_machine() -> None:
    [alarms] = widgets("alarm")
    names = [each.rpartition(":alarm:")[2] for each in alarms["alarms"]]
    assert sorted(names) == sorted(f"${{AWS::StackName}}-{name}" for name in ALARMS)
    rows = [row for widget in widgets("metric") for row in shown(widget["metrics"])]
    for metric, all_of in (("Errors", FUNCTIONS), ("Duration", FUNCTIONS), ("ExecutionsFailed", MACHINES)):
        assert {of for _, name, _, of in rows if name == metric} == {f"${{{name}}}" for name in all_of}


def test_a_dashboard_expression_uses_only_metrics_of_its_widget() -> None:
    for widget in widgets("metric"):
        options = [each for row in widget["metrics"] for each in row if isinstance(each, dict)]
        used = {word for each in options for word in re.findall(r"\b[a-z]\w*", each.get("expression", ""))}
        assert used == {each["id"] for each in options if "id" in each}
