"""Local EventBridge Scheduler: computes when the schedules of template.yaml are due."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from infra.local.environment import SCHEDULE, Template

UNITS = {"minute": 60, "hour": 3600, "day": 86400}


@dataclass(frozen=True)
class Schedule:
    name: str
    expression: str
    zone: ZoneInfo
    target: str
    """ARN of a function or a state machine."""
    given: str | None
    """Its input as JSON; None for Scheduler's default event."""
    enabled: bool = True


def schedules_of(template: Template) -> list[Schedule]:
    return [
        Schedule(
            name=template.name(logical_id),
            expression=template.text(each["ScheduleExpression"]),
            zone=ZoneInfo(template.text(each.get("ScheduleExpressionTimezone", "UTC"))),
            target=template.text(each["Target"]["Arn"]),
            given=template.text(each["Target"]["Input"]) if "Input" in each["Target"] else None,
            enabled=template.text(each.get("State", "ENABLED")) == "ENABLED",
        )
        for logical_id, each in template.of_type(SCHEDULE).items()
    ]


# --- when -------------------------------------------------------------------------------------------------------------


def next_time(expression: str, zone: ZoneInfo, after: float, since: float) -> float:
    """Return the first moment later than `after`, in seconds since the epoch.

    A rate counts from `since`. A local time that does not exist is skipped; one that occurs twice counts once. Raises
    `ValueError` for expressions other than `rate(…)` and `cron(MINUTES HOURS * * ? *)`.
    """
    if found := re.fullmatch(r"rate\(([1-9]\d*) (minute|hour|day)s?\)", expression):
        period = int(found[1]) * UNITS[found[2]]
        return since + ((after - since) // period + 1) * period
    if found := re.fullmatch(r"cron\(([\d,]+) ([\d,]+) \* \* \? \*\)", expression):
        times = [time(int(hour), int(minute)) for hour in found[2].split(",") for minute in found[1].split(",")]
        today = datetime.fromtimestamp(after, zone).date()
        moments = (moment for days in range(3) for moment in _moments(today + timedelta(days=days), times, zone))
        return min(moment for moment in moments if moment > after)
    raise ValueError(f"The laptop's clock does not read {expression!r}.")


def _moments(day: date, times: Iterable[time], zone: ZoneInfo) -> Iterator[float]:
    for each in times:
        local = datetime.combine(day, each, zone)
        moment = local.timestamp()
        if datetime.fromtimestamp(moment, zone).replace(fold=0) == local:
            yield moment


# --- the clock --------------------------------------------------------------------------------------------------------


class Clock:
    """Collects the schedules that became due. Times missed while the machine slept count once."""

    def __init__(self, schedules: Iterable[Schedule], now: float) -> None:
        self._since = now
        self._next = {each: self._after(each, now) for each in schedules if each.enabled}

    def due(self, now: float) -> list[tuple[Schedule, float]]:
        """Return the schedules due since the last call, each with the moment at which it was due."""
        found = [(each, moment) for each, moment in self._next.items() if moment <= now]
        self._next.update((each, self._after(each, now)) for each, _ in found)
        return found

    def _after(self, schedule: Schedule, now: float) -> float:
        return next_time(schedule.expression, schedule.zone, now, self._since)


DEFAULT_EVENT = (
    '{"version": "0", "id": "<aws.scheduler.execution-id>", "detail-type": "Scheduled Event", '
    '"source": "aws.scheduler", "time": "<aws.scheduler.scheduled-time>", "detail": "{}"}'
)


def event_of(schedule: Schedule, moment: float, execution_id: str) -> str:
    """Return the target's input as JSON."""
    at = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    known = {"scheduled-time": at, "execution-id": execution_id, "attempt-number": "1"}
    text = DEFAULT_EVENT if schedule.given is None else schedule.given
    return re.sub(r"<aws\.scheduler\.([a-z-]+)>", lambda found: known.get(found[1], found[0]), text)
