"""Time as an argument: whoever needs it is handed a `Clock`, and reads it as late as it can."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

Clock: TypeAlias = Callable[[], float]
"""Seconds since the epoch. Leases and expiries are compared as such numbers (the laptop's database compares dates only
to the second); a date stands beside them where a TTL index needs one."""

system_clock: Clock = time.time


def to_datetime(seconds: float) -> datetime:
    """UTC, to the millisecond that BSON keeps."""
    return datetime.fromtimestamp(round(seconds, 3), UTC)
