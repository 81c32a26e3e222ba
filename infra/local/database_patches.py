"""Private methods of the laptop's database that are replaced, so that 5,000 conversations do not slow it down.

`tests/infra/test_local_database.py` names the version that was read.
"""

import time
from weakref import WeakKeyDictionary

from neosqlite import Collection
from neosqlite.collection.query_helper import QueryHelper

PURGE_SECONDS = 60.0
"""MongoDB looks for expired documents so often; the library does before each read, by reading the whole collection."""

_purged: WeakKeyDictionary[Collection, float] = WeakKeyDictionary()
_purge_expired = Collection._auto_purge_ttl


def _purge_once_a_minute(self: Collection) -> None:
    if time.monotonic() - _purged.get(self, -PURGE_SECONDS) >= PURGE_SECONDS:
        _purged[self] = time.monotonic()
        _purge_expired(self)


def _is_in_an_index(self: QueryHelper, field: str) -> bool:
    """Use an index for an equality on any of its fields; the library does so for the last field alone.

    No array of ours is in an index and searched by equality, for which the library's way makes up.
    """
    return any(field in fields for fields in self.collection.list_indexes(as_keys=True))


def apply_patches() -> None:
    Collection._auto_purge_ttl = _purge_once_a_minute
    QueryHelper._field_has_index = _is_in_an_index
