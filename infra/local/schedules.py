"""EventBridge Scheduler on the laptop: when a schedule of template.yaml is due, and a clock that waits for it."""

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
    """The ARN of a function or a state machine."""
    given: str | None
    """Its input, as JSON; None for Scheduler's own event."""
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
    """The first moment after `after`, in seconds since the epoch.

    A rate counts from `since`. A local time that does not exist is skipped, one that comes twice counts once. Raises
    `ValueError` for other expressions than `rate(…)` and `cron(MINUTES HOURS * * ? *)`.
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
    """Return what became due since the last call. Moments during which the machine slept count once."""

    def __init__(self, schedules: Iterable[Schedule], now: float) -> None:
        self._since = now
        self._next = {each: self._after(each, now) for each in schedules if each.enabled}

    def due(self, now: float) -> list[tuple[Schedule, float]]:
        """Return each due schedule, with the moment at which it was due."""
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
    """What its target is given, as JSON."""
    at = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    known = {"scheduled-time": at, "execution-id": execution_id, "attempt-number": "1"}
    text = DEFAULT_EVENT if schedule.given is None else schedule.given
    return re.sub(r"<aws\.scheduler\.([a-z-]+)>", lambda found: known.get(found[1], found[0]), text)
