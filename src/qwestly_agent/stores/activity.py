"""`agent_activity`: the feed of each user's events, and the outboxes that fill it.

An event is written into the document that it is about, in the same update as the change: `events` (JSON texts,
appended), `events_written` (their number) and `uncopied_since`. It is then copied into the feed by its id: by the store
right after its write, or by the sweep if the process died in between. So no event is lost or duplicated.
"""

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pymongo import UpdateOne
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import PyMongoError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.stores.collection import Expires, MongoCollection, index
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.store import Store

RETENTION = timedelta(days=90)
COLLECTION = MongoCollection(
    "agent_activity",
    Expires(RETENTION),
    # In the order of copying, and in the order of the feed.
    index("user_copied", "user_id", "copied_at"),
    index("copied", "copied_at"),
    index("user_at", "user_id", "-at"),
    holds="events: ids, a title",
    reader="find insert update",
)
"""`_id` (of the event), `user_id` (or `everybody`), `at` (when it happened), `type`, `role`, `severity`, `title`,
`run_id`, `data` (a JSON text: ids, numbers and enumerated words); `copied_at` (by the database's clock),
`expires_at`."""
EVENTS_KEPT = 50
"""Maximum number of events in a document's outbox; older ones are dropped. Fewer than this are ever waiting to be
copied."""


OUTBOX = {"events": 1, "events_written": 1, "events_copied": 1}
"""The fields of an outbox, as a projection."""


# --- outboxes ---------------------------------------------------------------------------------------------------------


def outbox_fields(*events: ActivityEvent) -> Document:
    """Return the outbox fields of a new document with these events."""
    if not events:
        return {}
    texts = [each.model_dump_json() for each in events]
    return {"events": texts, "events_written": len(events), "uncopied_since": events[-1].at}


def with_events(update: Document, *events: ActivityEvent) -> Document:
    """Return the update with operators that append these events to the document's outbox."""
    if not events:
        return update
    new = outbox_fields(*events)
    return {
        **update,
        "$set": {**update.get("$set", {}), "uncopied_since": new["uncopied_since"]},
        "$push": {**update.get("$push", {}), "events": {"$each": new["events"], "$slice": -EVENTS_KEPT}},
        "$inc": {**update.get("$inc", {}), "events_written": len(events)},
    }


async def copy_after_write(
    database: AsyncDatabase[Document], collection: str, user_id: str, key: str, written: Document | None = None
) -> None:
    """Copy the events that a write left in this document into the feed; the sweep copies them if this fails.

    `written` has the document's `OUTBOX` fields after the write, if they are known.
    """
    with suppress(PyMongoError):  # the change itself is done
        if written is None:
            await copy_events(database, collection, user_id, key)
        else:
            await _copy(database, collection, user_id, key, written)


async def copy_events(database: AsyncDatabase[Document], collection: str, user_id: str, key: str) -> None:
    """Copy this document's new events into the feed (idempotent)."""
    query = {"_id": key, "user_id": user_id, "uncopied_since": {"$gt": 0}}
    if found := await database[collection].find_one(query, OUTBOX):
        await _copy(database, collection, user_id, key, found)


async def _copy(database: AsyncDatabase[Document], collection: str, user_id: str, key: str, found: Document) -> None:
    written = found["events_written"]
    left = found["events"][found.get("events_copied", 0) - written :]
    await database[COLLECTION].bulk_write(
        [_upsert(ActivityEvent.model_validate_json(each)) for each in left], ordered=False
    )
    # Skipped if another event was written meanwhile, since that one is not copied yet.
    await database[collection].update_one(
        {"_id": key, "user_id": user_id, "events_written": written},
        {"$set": {"events_copied": written}, "$unset": {"uncopied_since": ""}},
    )


async def add_event(database: AsyncDatabase[Document], event: ActivityEvent) -> None:
    """Add an event that belongs to no document to the feed (idempotent)."""
    await database[COLLECTION].bulk_write([_upsert(event)])


def _upsert(event: ActivityEvent) -> UpdateOne:
    fields = event.model_dump(mode="json", exclude={"id", "user_id", "data"})
    # As text, since it is never queried.
    fields |= {"data": json.dumps(dict(event.data)), "expires_at": to_datetime(event.at) + RETENTION}
    # Uses the database's clock, which all writers share, because pollers read by this time.
    change = {"$setOnInsert": fields, "$currentDate": {"copied_at": True}}
    return UpdateOne({"_id": event.id, "user_id": event.user_id}, change, upsert=True)


# --- the feed ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CopiedEvent:
    """An event in the feed."""

    event: ActivityEvent
    copied_at: datetime
    """By the database's clock."""


class Activity(Store):
    """Reads and fills the feed. A user's feed also includes the events of `EVERYBODY`."""

    async def copy(self, collection: str, user_id: str, key: str) -> None:
        """Copy this document's new events into the feed (idempotent)."""
        await copy_events(self.database, collection, user_id, key)

    async def add(self, event: ActivityEvent) -> None:
        """Add an event that belongs to no document to the feed (idempotent)."""
        await add_event(self.database, event)

    async def copied_since(self, user_id: str, moment: datetime, limit: int) -> list[CopiedEvent]:
        """List events copied since `moment`, in the order of copying."""
        query = {**_seen_by(user_id), "copied_at": {"$gte": moment}}
        found = self.database[COLLECTION].find(query).sort("copied_at", 1).limit(limit)
        return [CopiedEvent(event_of(each), each["copied_at"]) async for each in found]

    async def latest_copied(self, user_id: str, limit: int) -> list[CopiedEvent]:
        """List the latest copied events, newest first."""
        found = self.database[COLLECTION].find(_seen_by(user_id)).sort("copied_at", -1).limit(limit)
        return [CopiedEvent(event_of(each), each["copied_at"]) async for each in found]

    async def newest(
        self,
        user_id: str,
        limit: int,
        *,
        after: tuple[float, str] | None = None,
        since: float | None = None,
        types: Collection[str] = (),
        severities: Sequence[str] = (),
    ) -> list[ActivityEvent]:
        """List events before `after` (a time and an event id) and not before `since`, newest first. Filtered by `types`
        and `severities` if given."""
        query: dict[str, Any] = _seen_by(user_id)
        before, last = after or (None, "")
        at = {name: moment for name, moment in (("$lte", before), ("$gte", since)) if moment is not None}
        for name, wanted in (("at", at), ("type", _any_of(types)), ("severity", _any_of(severities))):
            query |= {name: wanted} if wanted else {}
        if after:
            query |= {"$or": [{"at": {"$lt": before}}, {"_id": {"$lt": last}}]}
        found = self.database[COLLECTION].find(query).sort([("at", -1), ("_id", -1)]).limit(limit)
        return [event_of(each) async for each in found]

    async def get(self, user_id: str, event_id: str) -> ActivityEvent:
        """Get an event. Raises `NotFound`."""
        found = await self.database[COLLECTION].find_one({"_id": event_id, "user_id": user_id})
        if found is None:
            raise NotFound("There is no such event.")
        return event_of(found)


def _seen_by(user_id: str) -> Document:
    return {"user_id": {"$in": [user_id, EVERYBODY]}}


def _any_of(values: Collection[str]) -> Document:
    return {"$in": list(values)} if values else {}


def event_of(document: Document) -> ActivityEvent:
    fields = {name: value for name, value in document.items() if name in ActivityEvent.model_fields}
    return ActivityEvent.model_validate({**fields, "id": document["_id"], "data": json.loads(document["data"])})
