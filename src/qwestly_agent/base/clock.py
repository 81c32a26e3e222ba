"""Time as an argument: code that needs the time takes a `Clock`, and reads it as late as possible."""

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
    """Convert to UTC with the millisecond precision of BSON."""
    return datetime.fromtimestamp(round(seconds, 3), UTC)


def duration(seconds: float) -> str:
    """Format as "45 seconds", "5 minutes" or "2 days". It rounds up, so that a person who waits that long does not come
    too early."""
    units = ("second", 1, 90), ("minute", 60, 90), ("hour", 3_600, 36), ("day", 86_400, math.inf)
    counted = ((max(1, math.ceil(seconds / size)), name, most) for name, size, most in units)
    count, name = next((count, name) for count, name, most in counted if count <= most)
    return f"{count} {name}{'s' if count > 1 else ''}"
