"""Time and ids as arguments: code that needs the time takes a `Clock`, and reads it as late as possible. Also times and
pages in the API."""

import math
import re
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Any, Generic, Protocol, Self, TypeVar
from zoneinfo import ZoneInfo

from pydantic import BaseModel, PlainSerializer, WithJsonSchema

from qwestly_agent.base.settings import CLOCK_OFFSET_SECONDS

Item = TypeVar("Item")
Record = TypeVar("Record")


class Clock(Protocol):
    """Returns seconds since the epoch. Leases and expiries are stored and compared as such numbers, because the local
    database compares dates only to the second. A TTL index additionally needs a date."""

    def __call__(self) -> float: ...


def system_clock() -> float:
    """Return the time, rounded to the fifteen digits that the local database stores, so that a stored time equals the
    original."""
    return round(time.time() + CLOCK_OFFSET_SECONDS, 5)


def to_datetime(seconds: float) -> datetime:
    """Convert to UTC with the millisecond precision of BSON."""
    return datetime.fromtimestamp(round(seconds, 3), UTC)


def local_date(at: float, zone: str) -> date:
    """Return the date in this IANA time zone."""
    return to_datetime(at).astimezone(ZoneInfo(zone)).date()


def to_iso(seconds: float) -> str:
    """Format as ISO 8601 with `Z`, rounded down to whole milliseconds, so that a search starting at this time includes
    it."""
    milliseconds = math.floor(seconds * 1000 + 0.001)  # a float may be slightly less than its milliseconds
    return f"{to_datetime(milliseconds / 1000).replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


_MOMENT = re.compile(r"(?:^|_)(?:at|since|until)$|^last_(?:seen|used)$|^(?:as_of|asked|created|said)$")
"""Names of fields that contain seconds since the epoch. `as_of` contains one time per source."""


def with_iso_moments(value: Any, *, is_moment: bool = False) -> Any:
    """Replace seconds since the epoch with ISO 8601, and 0 with null."""
    match value:
        case dict():
            return {
                name: with_iso_moments(each, is_moment=is_moment or bool(_MOMENT.search(name)))
                for name, each in value.items()
            }
        case list():
            return [with_iso_moments(each, is_moment=is_moment) for each in value]
        case float() if is_moment:
            return to_iso(value) if value else None
        case _:
            return value


Moment = Annotated[
    float, PlainSerializer(to_iso, when_used="json"), WithJsonSchema({"type": "string", "format": "date-time"})
]
"""Seconds since the epoch, serialized as ISO 8601."""
Cursor = Annotated[float, WithJsonSchema({"type": "string"})]
"""A page's cursor, as returned in `next`; opaque to clients."""


class Page(BaseModel, Generic[Item]):
    items: list[Item]
    next: str | None
    """Cursor, opaque text: pass it as `after`; null at the end."""

    @classmethod
    def of(
        cls, found: Sequence[Record], limit: int, view: Callable[[Record], Item], date: Callable[[Record], float]
    ) -> Self:
        """Return the page of records that were read with `limit` + 1, to detect further ones."""
        items = [view(each) for each in found[:limit]]
        return cls(items=items, next=repr(date(found[limit - 1])) if len(found) > limit else None)


def format_day(at: float, zone: str = "UTC", now: float | None = None) -> str:
    """Format as "Monday, November 23, 2026" or, relative to `now`, without the year if it is the same, and as "today"
    or "yesterday". `zone` is an IANA time zone."""
    day, today = local_date(at, zone), None if now is None else local_date(now, zone)
    if today and 0 <= (today - day).days <= 1:
        return "today" if day == today else "yesterday"
    return format_date(day).removesuffix(f", {today.year}" if today else "")


def format_date(day: date) -> str:
    """Format as "Monday, November 23, 2026"."""
    return f"{day:%A, %B} {day.day}, {day.year}"


def format_moment(at: float, zone: str = "UTC", now: float | None = None) -> str:
    """Format as "Monday, November 23, 2026 at 2:05 PM Lisbon time" or, relative to `now`, as "today at 2:05 PM"."""
    local = to_datetime(at).astimezone(ZoneInfo(zone))
    place = " UTC" if zone == "UTC" else f" {zone.rpartition('/')[2].replace('_', ' ')} time"
    return f"{format_day(at, zone, now)} at {format_time(local.hour, local.minute)}{place if now is None else ''}"


def format_time(hour: int, minute: int) -> str:
    """Format as "2:05 PM"."""
    return f"{hour % 12 or 12}:{minute:02} {'AM' if hour < 12 else 'PM'}"


def format_duration(seconds: float) -> str:
    """Format as "45 seconds", "5 minutes" or "2 days", rounded up, so that a person who waits that long is not too
    early."""
    units = ("second", 1, 90), ("minute", 60, 90), ("hour", 3_600, 36), ("day", 86_400, math.inf)
    counted = ((max(1, math.ceil(seconds / size)), name, most) for name, size, most in units)
    count, name = next((count, name) for count, name, most in counted if count <= most)
    return f"{count} {name}{'s' if count > 1 else ''}"


class NewId(Protocol):
    """Returns a new unique string of letters and digits."""

    def __call__(self) -> str: ...


def new_id() -> str:
    return uuid.uuid4().hex
