"""Events are written into the document that they are about, and then copied into the feed.

An event is written in the same update as the change: `events` (JSON texts, appended), `events_written` (their number)
and `uncopied_since`. It is then copied into the feed by its id: right after the write, or by the sweep if the process
died in between. So no event is lost or duplicated.
"""

import json
from contextlib import suppress
from datetime import timedelta

from pymongo import UpdateOne
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import PyMongoError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.platform.collection import Document, Expires, MongoCollection, index

RETENTION = timedelta(days=90)
FEED = MongoCollection(
    "agent_activity",
    Expires(RETENTION),
    # For reads in the order of copying, and in the order of the feed.
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
"""Maximum number of events in a document's outbox; older ones are dropped. There are never this many waiting to be
copied."""


OUTBOX = {"events": 1, "events_written": 1, "events_copied": 1}
"""The fields of an outbox, as a projection."""


def outbox_fields(*events: ActivityEvent) -> Document:
    """Return the outbox fields of a new document with these events."""
    if not events:
        return {}
    texts = [each.model_dump_json() for each in events]
    return {"events": texts, "events_written": len(events), "uncopied_since": events[-1].at}


def with_events(update: Document, *events: ActivityEvent) -> Document:
    """Return the update, extended to append these events to the document's outbox."""
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
    """Copy the events that a write left in this document into the feed; if this fails, the sweep copies them.

    `written` contains the document's `OUTBOX` fields after the write, if known.
    """
    with suppress(PyMongoError):  # the change itself is already written
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
    written, here = found["events_written"], {"_id": key, "user_id": user_id}
    texts = found["events"][found.get("events_copied", 0) - written :]
    left = [ActivityEvent.model_validate_json(each) for each in texts]
    await database[FEED].bulk_write([_upsert(each) for each in left], ordered=False)
    # Matches nothing if another event was written meanwhile, since that one is not copied yet.
    copied = await database[collection].update_one(
        {**here, "events_written": written}, {"$set": {"events_copied": written}, "$unset": {"uncopied_since": ""}}
    )
    if not copied.matched_count and await database[collection].find_one(here, {"_id": 1}) is None:
        # The document was deleted meanwhile, perhaps with all data of its user, which must then leave nothing in the
        # feed.
        await database[FEED].delete_many({"user_id": user_id, "_id": {"$in": [each.id for each in left]}})


async def add_event(database: AsyncDatabase[Document], event: ActivityEvent) -> None:
    """Add an event that belongs to no document to the feed (idempotent)."""
    await database[FEED].bulk_write([_upsert(event)])


def _upsert(event: ActivityEvent) -> UpdateOne:
    fields = event.model_dump(mode="json", exclude={"id", "user_id", "data"})
    # Stored as text, since it is never queried.
    fields |= {"data": json.dumps(dict(event.data)), "expires_at": to_datetime(event.at) + RETENTION}
    # By the database's clock, which all writers share, because pollers read by this time.
    change = {"$setOnInsert": fields, "$currentDate": {"copied_at": True}}
    return UpdateOne({"_id": event.id, "user_id": event.user_id}, change, upsert=True)
