"""Time and ids as arguments: code that needs the time takes a `Clock`, and reads it as late as possible."""

import math
import re
import time
import uuid
from datetime import UTC, datetime
from typing import Annotated, Any, Protocol

from pydantic import PlainSerializer, WithJsonSchema


class Clock(Protocol):
    """Seconds since the epoch. Leases and expiries are compared as such numbers (the laptop's database compares dates
    only to the second); a date stands beside them where a TTL index needs one."""

    def __call__(self) -> float: ...


def system_clock() -> float:
    """Round to the fifteen digits that the laptop's database keeps, so that a stored moment equals the one that was
    written."""
    return round(time.time(), 5)


def to_datetime(seconds: float) -> datetime:
    """Convert to UTC with the millisecond precision of BSON."""
    return datetime.fromtimestamp(round(seconds, 3), UTC)


def to_iso(seconds: float) -> str:
    """Format as ISO 8601 with `Z`, in whole milliseconds: never later than the moment, so that a search from it on
    finds the moment itself."""
    milliseconds = math.floor(seconds * 1000 + 0.001)  # a float may be slightly less than the millisecond it stands for
    return f"{to_datetime(milliseconds / 1000).replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


_MOMENT = re.compile(r"(?:^|_)(?:at|since|until)$|^last_(?:seen|used)$|^(?:as_of|asked|created|said)$")
"""Names of fields that hold seconds since the epoch; `as_of` has one for each source."""


def readable(value: Any, *, is_moment: bool = False) -> Any:
    """Replace seconds since the epoch by ISO 8601, and a moment that never came by null."""
    match value:
        case dict():
            return {
                name: readable(each, is_moment=is_moment or bool(_MOMENT.search(name))) for name, each in value.items()
            }
        case list():
            return [readable(each, is_moment=is_moment) for each in value]
        case float() if is_moment:
            return to_iso(value) if value else None
        case _:
            return value


Moment = Annotated[
    float, PlainSerializer(to_iso, when_used="json"), WithJsonSchema({"type": "string", "format": "date-time"})
]
"""Seconds since the epoch that clients read as ISO 8601."""
Position = Annotated[float, WithJsonSchema({"type": "string"})]
"""A page's cursor, as `next` gave it: text to clients, who do not read it."""


def duration(seconds: float) -> str:
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
