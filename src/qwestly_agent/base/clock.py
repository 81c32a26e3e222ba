"""Time as an argument: whoever needs it is handed a `Clock`, and reads it as late as it can."""

import math
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Seconds since the epoch. Leases and expiries are compared as such numbers (the laptop's database compares dates
    only to the second); a date stands beside them where a TTL index needs one."""

    def __call__(self) -> float: ...


system_clock: Clock = time.time


def to_datetime(seconds: float) -> datetime:
    """UTC, to the millisecond that BSON keeps."""
    return datetime.fromtimestamp(round(seconds, 3), UTC)


def duration(seconds: float) -> str:
    """As "45 seconds", "5 minutes", "2 days". It is rounded up: never less than was promised, and nobody who is told to
    wait comes too early."""
    units = ("second", 1, 90), ("minute", 60, 90), ("hour", 3_600, 36), ("day", 86_400, math.inf)
    counted = ((max(1, math.ceil(seconds / size)), name, most) for name, size, most in units)
    count, name = next((count, name) for count, name, most in counted if count <= most)
    return f"{count} {name}{'s' if count > 1 else ''}"
