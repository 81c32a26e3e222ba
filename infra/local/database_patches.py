"""Patches of private methods of the laptop's database: they keep it fast with 5,000 conversations, make commands a
third cheaper, and fix the comparison of dates.

`tests/infra/test_local_database.py` names the version they were written for.
"""

import asyncio
import time
from collections.abc import Callable
from copy import copy
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

from neosqlite import Collection, query_operators
from neosqlite.collection.query_helper import QueryHelper, aggregation

PURGE_SECONDS = 60.0
"""Interval at which MongoDB deletes expired documents. The library does so before each read, scanning the whole
collection."""

_purged: WeakKeyDictionary[Collection, float] = WeakKeyDictionary()
_purge_expired = Collection._auto_purge_ttl


def _purge_once_a_minute(self: Collection) -> None:
    if time.monotonic() - _purged.get(self, -PURGE_SECONDS) >= PURGE_SECONDS:
        _purged[self] = time.monotonic()
        _purge_expired(self)


def _is_in_an_index(self: QueryHelper, field: str) -> bool:
    """Use an index for an equality on any of its fields; the library does so only for the last one.

    The library avoids this because of arrays, but none of our indexed arrays is searched by equality.
    """
    return any(field in fields for fields in self.collection.list_indexes(as_keys=True))


_is_no_less = query_operators._gte


def _is_no_earlier(field: str, value: Any, document: dict[str, Any]) -> bool:
    """Compare dates with and without a time zone as UTC. Dates from the wire have none, `$currentDate` stores one, and
    the library never finds such a date by `$gte` next to an `$in`."""
    kept = document.get(field)
    if isinstance(kept, datetime) and isinstance(value, datetime):
        return kept.replace(tzinfo=None) >= value.replace(tzinfo=None)
    return _is_no_less(field, value, document)


async def _at_once(handle: Callable[[Any], Any], message: Any) -> Any:
    """Handle a command in the event loop: no command blocks, those of one database take turns, and a thread would cost
    more."""
    return handle(message)


def apply_patches() -> None:
    asyncio.to_thread = _at_once
    aggregation.deepcopy = copy  # a projection's document is not shared
    query_operators._gte = _is_no_earlier
    Collection._auto_purge_ttl = _purge_once_a_minute
    QueryHelper._field_has_index = _is_in_an_index
