"""The declaration of a collection, and the base class of the stores."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias, TypeVar

from pymongo import ASCENDING, DESCENDING, IndexModel
from pymongo.asynchronous.database import AsyncDatabase

# --- collection -------------------------------------------------------------------------------------------------------
# The declaration of a collection. Its indexes, export, erasure, outbox and database roles are derived from it.


ALL_ACTIONS = "find insert update remove"


@dataclass(frozen=True)
class Expires:
    """MongoDB deletes a document after the date in `field`."""

    after: timedelta
    """The longest time from a document's creation, or from the last use that extends it."""
    field: str = "expires_at"
    since: str = ""
    """The words that follow the period in docs/data.md, such as 'after the last use'."""


@dataclass(frozen=True)
class Permanent:
    """Documents are kept until erased, for the given reason."""

    reason: str


class MongoCollection(str):
    """One of our collections. It is a string (its name), so it can be used to subscript a database.

    Its documents belong either to the user in `user_id`, who may export and erase them (`user_data.py`), with `holds`
    listing their contents; or to no user, for `no_user_reason`. Raises `ValueError` unless exactly one of the two is
    given.
    """

    retention: Expires | Permanent
    indexes: Sequence[IndexModel]
    holds: str
    no_user_reason: str
    events: Sequence[str]
    """Types of the events about the documents. A document keeps its events for the feed (`activity.py`), except the
    event of its deletion."""
    events_note: str
    """An explanation of `events` for docs/approvals.md."""
    chat: str
    """Database actions allowed to the functions that serve signed-in users."""
    reader: str
    """Database actions allowed to the other functions that call models. All remaining functions have `ALL_ACTIONS`."""
    opener: str
    """Database actions allowed to the function that opens files."""

    def __new__(
        cls,
        name: str,
        kept: Expires | Permanent,
        *indexes: IndexModel,
        holds: str = "",
        no_user_reason: str = "",
        events: Sequence[str] = (),
        events_note: str = "",
        chat: str = ALL_ACTIONS,
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
        self.chat, self.reader, self.opener = chat, reader, opener
        return self

    @property
    def has_outbox(self) -> bool:
        """True if documents contain events for the feed."""
        return bool(self.events)


def index(name: str, *fields: str, **options: Any) -> IndexModel:
    """Return an index over these fields in order; a leading `-` means descending."""
    keys = [(each.removeprefix("-"), DESCENDING if each.startswith("-") else ASCENDING) for each in fields]
    return IndexModel(keys, name=name, **options)


# --- store ------------------------------------------------------------------------------------------------------------
# The base class of the stores.


Document: TypeAlias = dict[str, Any]
"""A MongoDB document."""
Method = TypeVar("Method", bound=Callable[..., Any])


def across_users(method: Method) -> Method:
    """Mark a store method that reads documents of all users, for sweeps, the brake and measurements.

    Such a method returns only ids, times and counts (except `Activity.list_copied`, which returns the events for the
    bus); further reads go through the stores, with a user id. `tests/mongo_rule.py` rejects such a read unless a marked
    method is on the stack, and `tests/stores/test_across_users.py` checks that an index serves it.
    """
    method.__dict__["across_users"] = True
    return method


class Due(NamedTuple):
    """A document that is due."""

    user_id: str
    id: str
    due_at: float


@dataclass(frozen=True)
class Backlog:
    """Records that are due."""

    count: int
    due_since: float | None
    """When the oldest one became due, in seconds since the epoch; None if there are none."""


@dataclass(frozen=True)
class Store:
    """Access to collections of one database, in the terms of the domain.

    A store without further fields is not itself a dataclass: creating forty dataclasses took 5 % of a cold start.
    """

    database: AsyncDatabase[Document]

    @classmethod
    def of(cls, database: AsyncDatabase[Document]) -> Self:
        return cls(database)

    async def _backlog(self, collection: str, query: Document, since: str) -> Backlog:
        count = await self.database[collection].count_documents(query)
        return Backlog(count, await self._least(collection, query, since) if count else None)

    async def _least(self, collection: str, query: Document, field: str) -> float | None:
        found = await self.database[collection].find(query, {field: 1}).sort(field, 1).limit(1).to_list()
        return next((each[field] for each in found), None)


class Schedule(Store):
    """A store whose documents become due."""

    collection: ClassVar[MongoCollection]
    id_field: ClassVar[str] = "_id"
    due_field: ClassVar[str] = "due_at"
    """The time in seconds since the epoch; missing or 0 in documents that do not become due."""

    def _due(self, after: float, until: float) -> Document:
        return {self.due_field: {"$gt": after, "$lte": until}}

    @across_users
    async def list_due(self, after: float, until: float, limit: int, braked: Collection[str] = ()) -> list[Due]:
        """List documents that became due in this interval, longest overdue first. Documents of `braked` users stay
        due."""
        query = {**self._due(after, until), **_not_of(braked)}
        fields = dict.fromkeys(("user_id", self.id_field, self.due_field), 1)
        found = self.database[self.collection].find(query, fields).sort(self.due_field, 1).limit(limit)
        return [Due(each["user_id"], each[self.id_field], each[self.due_field]) async for each in found]

    @across_users
    async def backlog(self, now: float, braked: Collection[str] = ()) -> Backlog:
        return await self._backlog(self.collection, {**self._due(0, now), **_not_of(braked)}, self.due_field)


def _not_of(users: Collection[str]) -> Document:
    return {"user_id": {"$nin": list(users)}} if users else {}
