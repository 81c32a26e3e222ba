"""Structured logs (one JSON object per line, with the run's id, without user text or keys) and metrics."""

import json
import logging
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

SERVICE = "qwestly-agent"

NEVER_LOGGED = frozenset(
    {"authorization", "token", "jwt", "secret", "password", "api_key", "task_token", "message", "content", "email"}
)
"""Keys whose values are masked at any depth of a log line."""


CAUSES, FRAMES = 5, 5
"""Maximum number of chained causes, and of stack frames per cause, in a log line."""


class Event(StrEnum):
    """All events that can be logged."""

    TURN_STARTED = "turn started"
    TURN_ENDED = "turn ended"
    TURN_REFUSED = "turn refused: too many, or over budget"
    TURN_FAILED = "turn failed"
    RECORD_FAILED = "answer recorded by its words alone"
    STREAM_FAILED = "stream could not be encoded"
    TURN_RECOVERED = "turn recovered from a killed process"
    LEASE_LOST = "another turn took the conversation over"
    WATCH_FAILED = "stop signals or leases could not be read"
    TRACES_LOST = "traces could not be sent"
    TOOL_FAILED = "tool failed"
    ACCOUNT_FAILED = "a turn's cost or tool calls could not be written down"
    SEARCH_WITHOUT_VECTORS = "query not embedded, searched by words"
    CONSOLIDATION_FAILED = "a user's memories were not consolidated"
    REQUEST_FAILED = "request failed"
    NOT_SEALED = "approval not sealed"
    ANSWER_NOT_JUDGED = "an answer of the day could not be judged"
    CHECK_FAILED = "a statement could not be checked, and was left out"
    SECRETS_READ = "secrets read again"
    SECRETS_UNREADABLE = "secrets could not be read again, the old values stay"
    ROLLOUT_UNREADABLE = "the rollout cannot be read, the base answers"
    ROLLOUT_MOVED = "a variant goes on, or back"
    SET_ASIDE = "conversation set aside: it could not be read for what to remember"


def cause_of(error: BaseException) -> dict[str, Any]:
    """Describe an error for a log line by types and locations. Messages are left out, because they may quote user
    text."""
    kinds, places, seen = [], [], error
    while seen and len(kinds) < CAUSES:
        kinds.append(type(seen).__name__)
        places += [
            f"{frame.name} {frame.filename}:{frame.lineno}"
            for frame in traceback.extract_tb(seen.__traceback__)[-FRAMES:]
        ]
        seen = seen.__cause__ or seen.__context__
    return {"cause": kinds, "at": places}


class _KindsOnly(logging.Filter):
    """Replaces errors in log records of libraries with their types, because messages may quote user text."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1]:
            record.msg, record.args = f"{record.getMessage()}: {cause_of(record.exc_info[1])}", ()
            record.exc_info = record.exc_text = None
        return True


def make_logger(level: str) -> Logger:
    """Create the logger. Attach a run's id with `thread_safe_append_keys`, which applies only to the current task."""
    for others in ("uvicorn.error", "asyncio"):
        logging.getLogger(others).addFilter(_KindsOnly())
    return Logger(service=SERVICE, level=level, json_serializer=_serialize, utc=True, use_rfc3339=True)


NAMESPACE = "QwestlyAgent"
"""Namespace of the metrics. Alarms and the dashboard in template.yaml use it and the metric names below."""


def _metrics() -> AmazonCloudWatchEMFProvider:
    """Create a metrics provider that prints one line of embedded metric format at each flush. Powertools takes the only
    dimension, `service`, from POWERTOOLS_SERVICE_NAME. It contains the stack's name, because several stacks may share
    an account."""
    return AmazonCloudWatchEMFProvider(namespace=NAMESPACE)


def measure_turn(status: str, receipt: Mapping[str, Any], calls: Mapping[str, int]) -> None:
    """Emit the metrics of a turn."""
    metrics = _metrics()
    metrics.add_metric("Turns", MetricUnit.Count, 1)
    metrics.add_metric("FailedTurns", MetricUnit.Count, int(status == "failed"))
    metrics.add_metric("StoppedTurns", MetricUnit.Count, int(status == "stopped"))
    metrics.add_metric("HelpTurns", MetricUnit.Count, int("help" in receipt))
    for name in ("input_tokens", "cached_tokens", "output_tokens"):
        metrics.add_metric(name.title().replace("_", ""), MetricUnit.Count, receipt[name])
    if receipt["cost_usd"] is not None:
        metrics.add_metric("CostUsd", MetricUnit.NoUnit, receipt["cost_usd"])
    if receipt["first_text_ms"] is not None:
        metrics.add_metric("FirstTextLatency", MetricUnit.Milliseconds, receipt["first_text_ms"])
    if "variant" in receipt:
        _add_variant(metrics, status, receipt)
    metrics.add_metric("TurnLatency", MetricUnit.Milliseconds, receipt["total_ms"])
    metrics.add_metric("ToolCalls", MetricUnit.Count, sum(calls.values()))
    metrics.add_metric("ToolErrors", MetricUnit.Count, calls.get("failed", 0))
    metrics.add_metric("ToolRefusals", MetricUnit.Count, calls.get("refused", 0))
    metrics.flush_metrics()


def _add_variant(metrics: AmazonCloudWatchEMFProvider, status: str, receipt: Mapping[str, Any]) -> None:
    """Add the metrics of a rollout. One set of names for the variant and one for the base is enough, because only one
    variant is tried at a time."""
    whose = "Base" if receipt["variant"] == "base" else "Variant"
    metrics.add_metric(f"{whose}Turns", MetricUnit.Count, 1)
    metrics.add_metric(f"{whose}FailedTurns", MetricUnit.Count, int(status == "failed"))
    if receipt["cost_usd"] is not None:
        metrics.add_metric(f"{whose}CostUsd", MetricUnit.NoUnit, receipt["cost_usd"])
    if receipt["own_first_text_ms"] is not None:
        metrics.add_metric(f"{whose}OwnFirstText", MetricUnit.Milliseconds, receipt["own_first_text_ms"])


def measure_extraction(verbs: Sequence[str], superseded: int, proposed: int, dropped: Mapping[str, int]) -> None:
    """Emit the metrics of an extraction: memories by outcome, and dropped ones by reason."""
    metrics = _metrics()
    counts = Counter(verbs)
    metrics.add_metric("MemoriesFound", MetricUnit.Count, len(verbs) + sum(dropped.values()) - counts["skip"])
    metrics.add_metric("MemoriesAdded", MetricUnit.Count, counts["add"])
    metrics.add_metric("MemoriesReinforced", MetricUnit.Count, counts["reinforce"])
    metrics.add_metric("MemoriesSuperseded", MetricUnit.Count, superseded)
    metrics.add_metric("MemoriesUnchecked", MetricUnit.Count, counts["wait"])
    metrics.add_metric("MemoriesProposed", MetricUnit.Count, proposed)
    metrics.add_metric("MemoriesDropped", MetricUnit.Count, sum(dropped.values()))
    for reason, count in dropped.items():
        metrics.add_metric(f"MemoriesDropped{reason.title().replace('_', '')}", MetricUnit.Count, count)
    metrics.flush_metrics()


def measure_consolidation(users: int, planned: int, merged: int, left_over: int, failed: int) -> None:
    """Emit the metrics of one page of users. `users` counts the users read, `planned` the possible merges, and
    `left_over` those above the cap, which are left to the next night."""
    metrics = _metrics()
    metrics.add_metric("ConsolidatedUsers", MetricUnit.Count, users)
    metrics.add_metric("PlannedMerges", MetricUnit.Count, planned)
    metrics.add_metric("Merges", MetricUnit.Count, merged)
    metrics.add_metric("MergesLeftOver", MetricUnit.Count, left_over)
    metrics.add_metric("FailedConsolidations", MetricUnit.Count, failed)
    metrics.flush_metrics()


def measure_answer(cost_usd: float) -> None:
    """Emit the cost of a model request outside of a turn. Together with the turns' `CostUsd` it adds up to the total
    cost."""
    metrics = _metrics()
    metrics.add_metric("CostUsd", MetricUnit.NoUnit, cost_usd)
    metrics.flush_metrics()


def measure_planted_lie(model: str, kind: str, language: str, *, passed: bool, judge_errs: bool) -> None:
    """Emit how a judge judged a planted lie, and whether the judge has passed too many of the latest ones."""
    metrics = _metrics()
    metrics.add_metric("PlantedLies", MetricUnit.Count, 1)
    metrics.add_metric("PlantedLiesPassed", MetricUnit.Count, int(passed))
    metrics.add_metric("JudgeErrs", MetricUnit.Count, int(judge_errs))
    for name, value in (("model", model), ("kind", kind), ("language", language)):
        metrics.add_metadata(name, value)
    metrics.flush_metrics()


def measure_refusal(model: str, status: int | None) -> None:
    """Emit that a provider rejects every request to this model (`provider:name`), with the HTTP status."""
    metrics = _metrics()
    metrics.add_metric("ModelRefused", MetricUnit.Count, 1)
    metrics.add_metadata("model", model)
    metrics.add_metadata("status", status)
    metrics.flush_metrics()


def measure_waiting(oldest_approval_seconds: float, everybody_braked: bool, left: int, oldest_left: float) -> None:
    """Emit the metrics of pending approvals, and of approvals that the sweep did not reach. Emitted every minute:
    missing data means that the sweep does not run."""
    metrics = _metrics()
    metrics.add_metric("OldestApproval", MetricUnit.Seconds, oldest_approval_seconds)
    metrics.add_metric("EverybodyBraked", MetricUnit.Count, int(everybody_braked))
    _add_left(metrics, "Approvals", left, oldest_left)
    metrics.flush_metrics()


def measure_refused_mail() -> None:
    """Emit that SES rejected a mail, which will be retried."""
    metrics = _metrics()
    metrics.add_metric("MailsRefused", MetricUnit.Count, 1)
    metrics.flush_metrics()


def measure_briefing(kind: str) -> None:
    """Emit that a briefing was delivered: full, lite, or with nothing new."""
    metrics = _metrics()
    metrics.add_metric("Briefings", MetricUnit.Count, 1)
    metrics.add_metric("LiteBriefings", MetricUnit.Count, int(kind == "lite"))
    metrics.flush_metrics()


def measure_rollout(*, share: int = 0, taken_back: bool = False, held: bool = False) -> None:
    """Emit the result of a rollout check. Emitted every five minutes: missing data means that the check does not
    run."""
    metrics = _metrics()
    metrics.add_metric("RolloutShare", MetricUnit.Percent, share)
    metrics.add_metric("RolloutsTakenBack", MetricUnit.Count, int(taken_back))
    metrics.add_metric("RolloutsHeld", MetricUnit.Count, int(held))
    metrics.flush_metrics()


def measure_set_aside() -> None:
    """Emit that a conversation was set aside after too many failed attempts to read it."""
    metrics = _metrics()
    metrics.add_metric("ConversationsSetAside", MetricUnit.Count, 1)
    metrics.flush_metrics()


def measure_stage_over_budget() -> None:
    """Emit that a turn was rejected, or that a workflow waits, because the stage's daily budget is spent or nearly
    spent."""
    metrics = _metrics()
    metrics.add_metric("StageOverBudget", MetricUnit.Count, 1)
    metrics.flush_metrics()


def measure_left(what: str, count: int, oldest_seconds: float) -> None:
    """Emit how many items a sweep left for the next one, and how long the oldest has been due."""
    metrics = _metrics()
    _add_left(metrics, what, count, oldest_seconds)
    metrics.flush_metrics()


def _add_left(metrics: AmazonCloudWatchEMFProvider, what: str, count: int, oldest_seconds: float) -> None:
    metrics.add_metric(f"{what}Left", MetricUnit.Count, count)
    metrics.add_metric(f"Oldest{what}Left", MetricUnit.Seconds, oldest_seconds)


def _serialize(line: dict[str, Any]) -> str:
    event = line.get("message")
    return json.dumps({**_masked(line), "message": event if isinstance(event, str) else "…"}, default=str)


def _masked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: "…" if str(key).lower() in NEVER_LOGGED else _masked(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(item) for item in value]
    return value
