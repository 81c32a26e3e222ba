"""Briefings: when the next one is due, the items collected for it, and its lines."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Annotated, Literal, TypeAlias
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.domain.approval import sha256_hex

SCHEMA_VERSION = 1
"""Version of the stored format."""
MOST_LINES = 10
WORDS_A_LINE = 13
"""Maximum number of words in a line; keeps ten lines and the paragraph below 200 words."""

Topic: TypeAlias = Literal["needs_you", "found", "changed", "failed", "done", "under_way", "remembered"]
"""`found` are jobs, `changed` are applications."""
BriefingKind: TypeAlias = Literal["full", "lite", "nothing"]
"""All sources were read · some could not be read, and their last items are repeated · nothing is new."""
Mailed: TypeAlias = Literal["no", "claimed", "sent", "refused", "paced"]
"""Not mailed, or not yet · being sent · accepted by SES · rejected by SES · held back by the daily limit."""

Weekday = Annotated[int, Field(ge=0, le=6)]
"""Day of the week; 0 is Monday."""
EVERY_DAY: tuple[Weekday, ...] = (0, 1, 2, 3, 4, 5, 6)


def run_of(user_id: str, key: str) -> str:
    """Return the name of the only execution for this user and key (a local day or a request). It is also the briefing's
    id."""
    return f"brief-{sha256_hex(user_id, key)[:32]}"


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore")


class BriefingSettings(_Frozen):
    on: bool = False
    """Turned on at the end of an onboarding, or by the user."""
    hour: Annotated[int, Field(ge=0, le=23)] = 8
    minute: Annotated[int, Field(ge=0, le=59)] = 0
    days: Annotated[tuple[Weekday, ...], Field(min_length=1, max_length=7)] = EVERY_DAY
    mail: bool = True
    """True if briefings are mailed as well as shown in the app."""
    quiet: bool = False
    """True if no briefing is created when nothing is new."""


@dataclass(frozen=True)
class Planned:
    """A user's next briefing."""

    at: float
    """Seconds since the epoch."""
    day: str
    """The local day of the briefing (ISO 8601). A user has at most one scheduled briefing a day."""


def next_briefing(settings: BriefingSettings, zone: str, after: float, told: str | None = None) -> Planned:
    """Return the first briefing after this time, for a day later than `told`.

    A local time skipped by a clock change is moved by the same amount; of a repeated local time, the first counts.
    """
    here = ZoneInfo(zone)
    day = datetime.fromtimestamp(after, here).date()
    if told:
        day = max(day, date.fromisoformat(told) + timedelta(days=1))
    while True:
        at = datetime.combine(day, time(settings.hour, settings.minute), here).timestamp()
        if day.weekday() in settings.days and at > after:
            return Planned(at, day.isoformat())
        day += timedelta(days=1)


# --- items and lines --------------------------------------------------------------------------------------------------


class Item(_Frozen):
    """An item from a source, about one or several records. Its title contains no user text except titles of previews,
    adverts and applications, and the user's own next step."""

    id: str
    """`source:record`."""
    source: str
    topic: Topic
    at: float
    """The time of the event, in seconds since the epoch."""
    title: str
    records: tuple[str, ...]
    """Ids of the records that the item is about."""
    due_at: float | None = None
    """When the item was due; None for items without a due time."""
    new: bool = True
    """False if an earlier briefing contained the item, and it still applies."""


class Gathered(_Frozen):
    """The items of all sources for one briefing."""

    items: tuple[Item, ...] = ()
    missing: tuple[str, ...] = ()
    """Sources that failed or timed out."""
    marks: Mapping[str, float] = Field(default_factory=dict)
    """Time of the newest item read, by source."""
    as_of: Mapping[str, float] = Field(default_factory=dict)
    """Time of the read, by source."""

    @property
    def new(self) -> int:
        return sum(each.new for each in self.items)

    @property
    def counts(self) -> dict[Topic, int]:
        """The number of records by topic."""
        counts: dict[Topic, int] = {}
        for each in self.items:
            counts[each.topic] = counts.get(each.topic, 0) + len(each.records)
        return counts


class Line(_Frozen):
    text: str
    topic: Topic
    source: str
    records: tuple[str, ...]
    at: float
    due_at: float | None = None
    """As in `Item`."""


class Briefing(_Frozen):
    id: str
    user_id: str
    run_id: str
    day: str
    """The local day; empty if the user requested the briefing."""
    kind: BriefingKind = "full"
    created_at: float
    since: float | None = None
    """When the previous briefing was created; None if there was none."""
    gathered: Gathered = Gathered()
    before: Mapping[Topic, int] = Field(default_factory=dict)
    """The previous briefing's counts by topic."""
    lines: tuple[Line, ...] = ()
    delivered_at: float | None = None
    read_at: float | None = None
    mailed: Mailed = "no"
    schema_version: int = SCHEMA_VERSION

    @property
    def counts(self) -> dict[Topic, int]:
        return self.gathered.counts
