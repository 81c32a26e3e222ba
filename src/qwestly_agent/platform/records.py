"""Stores of records. A record is a frozen model with `id` and `user_id`, stored in one document.

It is inserted once, read by its id, and changed by compare-and-set, in the same write as the events of the change.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel
from pydantic_core import to_jsonable_python
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound, Unavailable
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.platform.collection import Document, Expires, MongoCollection, Store
from qwestly_agent.platform.outbox import add_event, copy_after_write, outbox_fields, with_events

TRIES = 10
"""Maximum number of attempts to write a change. Each conflict means that another process has changed the record
meanwhile."""

Record = TypeVar("Record", bound=Any)
T = TypeVar("T")


async def compare_and_set(
    read: Callable[[], Awaitable[T]],
    change: Callable[[T], T | None],
    write: Callable[[T, T], Awaitable[T | None]],
    known: T | None = None,
) -> tuple[T, bool]:
    """Change the current version, retrying after each conflict. Returns the version that is now current, and True if
    this call wrote it.

    `change` receives a version (`known` first, if given) and returns the new one; None or an equal one leaves the
    record unchanged. `write` returns the version it wrote, or None after a conflict. Raises `Unavailable` after `TRIES`
    conflicts, and whatever the functions raise.
    """
    for _ in range(TRIES):
        before = await read() if known is None else known
        after = change(before)
        if after is None or after == before:
            return before, False
        if (written := await write(before, after)) is not None:
            return written, True
        known = None
    raise Unavailable


class Records(Store, Generic[Record]):
    collection: ClassVar[MongoCollection]
    model: ClassVar[type[BaseModel]]
    missing: ClassVar[str]
    """The message of the `NotFound` error."""
    nested: ClassVar[Sequence[str]] = ()
    """Fields stored as JSON text, because they are never queried and MongoDB must not interpret their keys."""
    derived: ClassVar[Sequence[str]] = ()
    """Properties that are stored as well, for queries."""
    listed: ClassVar[Sequence[str]] = ()
    """Fields that are read for lists; all fields if empty."""
    order: ClassVar[Sequence[str]] = ("created_at",)
    """The fields by which records are sorted, all descending; the first one is a date."""
    kept_since: ClassVar[str] = "created_at"
    """The field from which the retention period is counted."""

    def events_of(self, before: Record | None, after: Record) -> Sequence[ActivityEvent]:  # noqa: ARG002
        """Return the events of a change; `before` is None for a new record."""
        return ()

    # --- reading ------------------------------------------------------------------------------------------------------

    async def find(self, user_id: str, record_id: str, /) -> Record | None:
        found = await self.database[self.collection].find_one({"_id": record_id, "user_id": user_id})
        return self.from_document(found) if found else None

    async def get(self, user_id: str, record_id: str, /) -> Record:
        """Get a record. Raises `NotFound`."""
        found = await self.find(user_id, record_id)
        if found is None:
            raise NotFound(self.missing)
        return found

    async def newest(self, user_id: str, limit: int, after: float | None = None, **query: Any) -> list[Record]:
        """List records dated before `after`, newest first; a `limit` of 0 means all."""
        before = {} if after is None else {self.order[0]: {"$lt": after}}
        query = {"user_id": user_id, **before, **query}
        return await self._list(query, [(each, -1) for each in self.order], limit, self.listed)

    async def list_for_turn(
        self, user_id: str, conversation_id: str, statuses: Collection[str]
    ) -> tuple[list[Record], list[Record]]:
        """Return the user's records with one of these statuses, newest first, and those with changes not yet reported
        in this conversation, oldest change first. A single command, because each turn begins with it."""
        either = [{"status": {"$in": sorted(statuses)}}, {"conversation_id": conversation_id, "news": True}]
        found = await self.newest(user_id, 0, None, **{"$or": either})
        unreported = [each for each in found if each.conversation_id == conversation_id and each.news]
        unreported.sort(key=lambda each: each.updated_at)
        return [each for each in found if each.status in statuses], unreported

    async def _list(
        self, query: Document, order: Sequence[tuple[str, int]], limit: int = 0, fields: Sequence[str] = ()
    ) -> list[Record]:
        found = self.database[self.collection].find(query, dict.fromkeys(fields, 1) or None)
        return [self.from_document(each) async for each in found.sort(order).limit(limit)]

    # --- writing ------------------------------------------------------------------------------------------------------

    async def add(self, record: Record) -> bool:
        """Insert a record with its events. Returns False if it already exists."""
        events = self.events_of(None, record)
        try:
            await self.database[self.collection].insert_one({**self.new_document(record), **outbox_fields(*events)})
        except DuplicateKeyError:
            return False
        await self._copy(record.user_id, record.id, events)
        return True

    async def add_or_get(self, record: Record) -> Record:
        """Insert a record, or return the existing one with the same id."""
        return record if await self.add(record) else await self.get(record.user_id, record.id)

    async def write(
        self, before: Record, after: Record, events: Sequence[ActivityEvent] | None = None, **if_still: Any
    ) -> bool:
        """Write the fields that differ, with the events of the change (or `events`, if given). Returns False without
        writing if a field in `if_still` has another value by now, or if the record is gone."""
        old, new = self.to_document(before), self.to_document(after)
        changes = {name: value for name, value in new.items() if value != old.get(name)}
        events = self.events_of(before, after) if events is None else events
        return await self._set(before.user_id, before.id, changes, events, if_still)

    async def replace(
        self, before: Record, after: Record, events: Sequence[ActivityEvent] | None = None
    ) -> Record | None:
        """Replace this revision. Returns the next one, or None after a conflict."""
        after = after.model_copy(update={"revision": before.revision + 1})
        return after if await self.write(before, after, events, revision=before.revision) else None

    async def transform(
        self,
        user_id: str,
        record_id: str,
        change: Callable[[Record], Record | None],
        *,
        known: Record | None = None,
        events: Sequence[ActivityEvent] | None = None,
    ) -> tuple[Record, bool]:
        """Change the current revision as in `compare_and_set`, with the events of the change, or `events` if given.
        Also raises `NotFound`."""
        write = partial(self.replace, events=events)
        return await compare_and_set(lambda: self.get(user_id, record_id), change, write, known)

    async def save_parts(self, user_id: str, record_id: str, **parts: Any) -> None:
        """Set these fields and leave the others unchanged. Raises `NotFound`."""
        if not await self.set_fields(user_id, record_id, parts):
            raise NotFound(self.missing)

    async def set_fields(
        self, user_id: str, record_id: str, changes: Mapping[str, Any], *events: ActivityEvent, **if_still: Any
    ) -> bool:
        """Set these fields, with these events. Returns False if a field in `if_still` has another value, or if the
        record does not exist."""
        stored = {name: as_text(value) if name in self.nested else value for name, value in changes.items()}
        return await self._set(user_id, record_id, stored, events, if_still)

    async def _set(
        self, user_id: str, record_id: str, changes: Document, events: Sequence[ActivityEvent], if_still: Document
    ) -> bool:
        here = {"_id": record_id, "user_id": user_id, **if_still}
        update = with_events({"$set": {**changes, **self._expiry(changes)}}, *events)
        written = (await self.database[self.collection].update_one(here, update)).matched_count
        if written:
            await self._copy(user_id, record_id, events)
        return bool(written)

    async def remove(self, user_id: str, record_id: str, event: ActivityEvent) -> bool:
        """Delete a record. Its event is written first, because afterwards there is no document. Returns False if the
        record does not exist."""
        here = {"_id": record_id, "user_id": user_id}
        if await self.database[self.collection].find_one(here, {"_id": 1}) is None:
            return False
        await add_event(self.database, event)
        return bool((await self.database[self.collection].delete_one(here)).deleted_count)

    async def _copy(self, user_id: str, record_id: str, events: Sequence[ActivityEvent]) -> None:
        if events:
            await copy_after_write(self.database, self.collection, user_id, record_id)

    # --- documents ----------------------------------------------------------------------------------------------------

    @classmethod
    def to_document(cls, record: Record) -> Document:
        flat = record.model_dump(mode="json", exclude={"id"})
        nested = {name: as_text(flat[name]) for name in cls.nested}
        return {**flat, **nested, "_id": record.id, **{name: getattr(record, name) for name in cls.derived}}

    @classmethod
    def new_document(cls, record: Record) -> Document:
        """Return the document for a new record, without events."""
        document = cls.to_document(record)
        return {**document, **cls._expiry(document)}

    @classmethod
    def from_document(cls, document: Document) -> Record:
        known = cls.model.model_fields  # read once, as each access computes it again
        fields = {name: value for name, value in document.items() if name in known}
        nested = {name: json.loads(fields[name]) for name in cls.nested if name in fields}
        return cls.model.model_validate({**fields, **nested, "id": document["_id"]})  # type: ignore[return-value]

    @classmethod
    def _expiry(cls, fields: Document) -> Document:
        kept = cls.collection.retention
        if isinstance(kept, Expires) and cls.kept_since in fields:
            return {kept.field: to_datetime(fields[cls.kept_since]) + kept.after}
        return {}


def as_text(value: Any) -> str:
    """Return nested data as a JSON text."""
    return json.dumps(to_jsonable_python(value), ensure_ascii=False)
