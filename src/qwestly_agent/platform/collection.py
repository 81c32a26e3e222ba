"""The declaration of a collection, and the base class of the stores."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self, TypeAlias

from pymongo import ASCENDING, DESCENDING, IndexModel
from pymongo.asynchronous.database import AsyncDatabase

# --- collection -------------------------------------------------------------------------------------------------------
# The declaration of a collection. Its indexes, export, erasure, outbox and database roles are derived from it.


ALL_ACTIONS = "find insert update remove"


@dataclass(frozen=True)
class Expires:
    """MongoDB deletes a document after the date in this field."""

    after: timedelta
    """The longest time from the document's creation, or from the last use that extends it."""
    field: str = "expires_at"
    since: str = ""
    """The words that follow the period in docs/data.md, such as 'after the last use'."""


@dataclass(frozen=True)
class Permanent:
    """Documents are kept until they are erased, for the given reason."""

    reason: str


class MongoCollection(str):
    """One of our collections. It is a string, its name, so that it can be used to subscript a database.

    Its documents belong to the user in `user_id`, who may export and erase them (`user_data.py`), and `holds` lists
    their contents; or to no user, for `no_user_reason`. Raises `ValueError` unless exactly one is given.
    """

    retention: Expires | Permanent
    indexes: Sequence[IndexModel]
    holds: str
    no_user_reason: str
    events: Sequence[str]
    """Types of the events about its documents. Documents hold them for the feed (`activity.py`), except the event of
    their deletion."""
    events_note: str
    """An explanation of `events`, for docs/approvals.md."""
    reader: str
    """Database actions of the functions that call models. The other functions have `ALL_ACTIONS`."""
    opener: str
    """Database actions of the function that opens files."""

    def __new__(
        cls,
        name: str,
        kept: Expires | Permanent,
        *indexes: IndexModel,
        holds: str = "",
        no_user_reason: str = "",
        events: Sequence[str] = (),
        events_note: str = "",
        reader: str = "",
        opener: str = "",
    ) -> "MongoCollection":
        if bool(holds) == bool(no_user_reason):
            raise ValueError(f"{name}: declare what it holds of a user, or why its documents are of none.")
        self = super().__new__(cls, name)
        self.retention = kept
        self.indexes = (
            *indexes,
            # For documents with events that are not yet in the feed.
            *([index("uncopied", "uncopied_since", sparse=True)] if events else []),
            *([index(kept.field, kept.field, expireAfterSeconds=0)] if isinstance(kept, Expires) else []),
        )
        self.holds, self.no_user_reason = holds, no_user_reason
        self.events, self.events_note = events, events_note
        self.reader, self.opener = reader, opener
        return self

    @property
    def has_outbox(self) -> bool:
        """True if documents hold events for the feed."""
        return bool(self.events)


def index(name: str, *fields: str, **options: Any) -> IndexModel:
    """Return an index over these fields in order; a leading `-` means descending."""
    keys = [(each.removeprefix("-"), DESCENDING if each.startswith("-") else ASCENDING) for each in fields]
    return IndexModel(keys, name=name, **options)


# --- store ------------------------------------------------------------------------------------------------------------
# The base class of the stores.


Document: TypeAlias = dict[str, Any]
"""A document of MongoDB."""


@dataclass(frozen=True)
class Store:
    """Access to collections of one database, in the domain's terms.

    A store without further fields is not a dataclass itself: creating forty dataclasses took 5 % of a cold start.
    """

    database: AsyncDatabase[Document]

    @classmethod
    def of(cls, database: AsyncDatabase[Document]) -> Self:
        return cls(database)
