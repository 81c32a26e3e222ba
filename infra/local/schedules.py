"""EventBridge Scheduler on the laptop: when a schedule of template.yaml is due, and a clock that waits for it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from infra.local.environment import SCHEDULE, Template

UNITS = {"minute": 60, "hour": 3600, "day": 86400}
MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
SEARCHED_DAYS = 9 * 366
"""A 29 February is eight years away at most."""


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


def next_time(expression: str, zone: ZoneInfo, after: float, since: float) -> float | None:
    """The first moment after `after`, in seconds since the epoch; None where there is none within nine years.

    A rate counts from `since`. A cron's local time that does not exist is skipped, one that comes twice counts once.
    Raises `ValueError` for an expression that is neither `rate(…)` nor a `cron(…)` without L, W and #.
    """
    match re.fullmatch(r"(rate|cron)\((.*)\)", expression.strip()):
        case re.Match() as found if found[1] == "rate":
            period = _period(found[2])
            return since + ((after - since) // period + 1) * period
        case re.Match() as found:
            return _Cron.parse(found[2]).next_time(zone, after)
        case _:
            raise ValueError(f"{expression!r} is no rate(…) and no cron(…).")


def _period(text: str) -> int:
    found = re.fullmatch(r"([1-9]\d*) (minute|hour|day)s?", text.strip())
    if not found:
        raise ValueError(f"rate({text}) is no number of minutes, hours or days.")
    return int(found[1]) * UNITS[found[2]]


@dataclass(frozen=True)
class _Cron:
    minutes: Sequence[int]
    hours: Sequence[int]
    days: Sequence[int]
    months: Sequence[int]
    weekdays: Sequence[int]
    years: Sequence[int]

    @classmethod
    def parse(cls, text: str) -> "_Cron":
        fields = text.split()
        if len(fields) != 6 or (fields[2] == "?") == (fields[4] == "?"):
            raise ValueError(f"cron({text}) must have six fields, and ? for either the day of month or of week.")
        minutes, hours, days, months, weekdays, years = fields
        return cls(
            _numbers(minutes, 0, 59),
            _numbers(hours, 0, 23),
            _numbers(days, 1, 31),
            _numbers(months, 1, 12, MONTHS),
            _numbers(weekdays, 1, 7, WEEKDAYS),
            _numbers(years, 1970, 2199),
        )

    def next_time(self, zone: ZoneInfo, after: float) -> float | None:
        today = datetime.fromtimestamp(after, zone).date()
        for day in (today + timedelta(days=n) for n in range(SEARCHED_DAYS)):
            if self._matches(day):
                due = (moment for moment in self._moments(day, zone) if moment > after)
                if found := next(due, None):
                    return found
        return None

    def _matches(self, day: date) -> bool:
        weekday = day.isoweekday() % 7 + 1
        parts = ((day.year, self.years), (day.month, self.months), (day.day, self.days), (weekday, self.weekdays))
        return all(part in allowed for part, allowed in parts)

    def _moments(self, day: date, zone: ZoneInfo) -> Iterator[float]:
        for hour in self.hours:
            for minute in self.minutes:
                local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
                moment = local.timestamp()
                if datetime.fromtimestamp(moment, zone).replace(fold=0) == local:
                    yield moment


def _numbers(text: str, lowest: int, highest: int, names: Sequence[str] = ()) -> list[int]:
    found: set[int] = set()
    for part in text.split(","):
        whole, _, step = part.partition("/")
        first, dash, last = whole.partition("-")
        if first in ("*", "?"):
            start, end = lowest, highest
        else:
            start = _number(first, names)
            end = _number(last, names) if dash else highest if step else start
        if not lowest <= start <= end <= highest or (step and not step.isdecimal()):
            raise ValueError(f"{part!r} is not within {lowest} to {highest}.")
        found.update(range(start, end + 1, int(step or 1)))
    return sorted(found)


def _number(text: str, names: Sequence[str]) -> int:
    if text.upper() in names:
        return names.index(text.upper()) + 1
    if not text.isdecimal():
        raise ValueError(f"{text!r} is nothing that the laptop's clock understands.")
    return int(text)


# --- the clock --------------------------------------------------------------------------------------------------------


class Clock:
    """Return what became due since the last call. Moments during which the machine slept count once."""

    def __init__(self, schedules: Iterable[Schedule], now: float) -> None:
        self._since = now
        self._next = {each: self._after(each, now) for each in schedules if each.enabled}

    def due(self, now: float) -> list[tuple[Schedule, float]]:
        """Return each due schedule, with the moment at which it was due."""
        found = [(each, moment) for each, moment in self._next.items() if moment is not None and moment <= now]
        self._next.update((each, self._after(each, now)) for each, _ in found)
        return found

    def _after(self, schedule: Schedule, now: float) -> float | None:
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
