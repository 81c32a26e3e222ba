"""The declaration of a collection. Indexes, export, erasure, outboxes and the database roles follow from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from pymongo import ASCENDING, DESCENDING, IndexModel

ALL_ACTIONS = "find insert update remove"


@dataclass(frozen=True)
class Expires:
    """MongoDB deletes a document once the date in this field has passed."""

    after: timedelta
    """The longest time from the document's creation, or from the last use that prolongs it."""
    field: str = "expires_at"
    since: str = ""
    """What follows the period in a sentence, for docs/data.md."""


@dataclass(frozen=True)
class Stays:
    """Kept until it is erased; `reason` says why."""

    reason: str


class MongoCollection(str):
    """A collection of ours. It is a string, its name, so that a database is subscripted with it.

    Its documents belong to the user in `user_id`, who may export and erase them (`user_data.py`), and `holds` lists
    what is in them; or to nobody, and `of_no_user` gives the reason. Raises `ValueError` unless one of them is given.
    """

    kept: Expires | Stays
    indexes: Sequence[IndexModel]
    holds: str
    of_no_user: str
    has_outbox: bool
    """Documents hold events for the feed (`activity.py`)."""
    reader: str
    """Actions of the functions that ask models; `ALL_ACTIONS` are those of the functions that do not."""
    opener: str
    """Actions of the function that opens files."""

    def __new__(
        cls,
        name: str,
        kept: Expires | Stays,
        *indexes: IndexModel,
        holds: str = "",
        of_no_user: str = "",
        has_outbox: bool = False,
        reader: str = "",
        opener: str = "",
    ) -> "MongoCollection":
        if bool(holds) == bool(of_no_user):
            raise ValueError(f"{name}: declare what it holds of a user, or why its documents are of none.")
        self = super().__new__(cls, name)
        self.kept = kept
        self.indexes = (
            *indexes,
            # For documents with events that are not in the feed yet.
            *([index("uncopied", "uncopied_since", sparse=True)] if has_outbox else []),
            *([index(kept.field, kept.field, expireAfterSeconds=0)] if isinstance(kept, Expires) else []),
        )
        self.holds, self.of_no_user, self.has_outbox = holds, of_no_user, has_outbox
        self.reader, self.opener = reader, opener
        return self


@cache
def collections() -> tuple[MongoCollection, ...]:
    """Return every collection that a module of this package declares, by name."""
    package = import_module(__name__.rpartition(".")[0])
    modules = [import_module(f"{package.__name__}.{each.name}") for each in iter_modules(package.__path__)]
    found = {value for module in modules for value in vars(module).values() if isinstance(value, MongoCollection)}
    return tuple(sorted(found))


def index(name: str, *fields: str, **options: Any) -> IndexModel:
    """An index over these fields in their order, descending where one begins with `-`."""
    keys = [(each.removeprefix("-"), DESCENDING if each.startswith("-") else ASCENDING) for each in fields]
    return IndexModel(keys, name=name, **options)
