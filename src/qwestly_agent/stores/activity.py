"""`agent_activity`: the feed of each user's events, filled from outboxes (`platform/outbox.py`)."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.platform.collection import Document, Store, across_users
from qwestly_agent.platform.outbox import FEED as COLLECTION
from qwestly_agent.platform.outbox import add_event, copy_events


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

    async def remove(self, user_id: str, event_id: str) -> None:
        """Remove an event of a user who was erased when it was added."""
        await self.database[COLLECTION].delete_one({"_id": event_id, "user_id": user_id})

    async def copied_since(self, user_id: str, moment: datetime, limit: int) -> list[CopiedEvent]:
        """List events copied since `moment`, in the order of copying."""
        query = {**_seen_by(user_id), "copied_at": {"$gte": moment}}
        found = self.database[COLLECTION].find(query).sort("copied_at", 1).limit(limit)
        return [CopiedEvent(event_of(each), each["copied_at"]) async for each in found]

    @across_users
    async def list_copied(self, moment: datetime, until: datetime, limit: int) -> list[CopiedEvent]:
        """List events of all users copied after `moment` and up to `until`, in the order of copying. They are sent to
        the event bus."""
        query = {"copied_at": {"$gt": moment, "$lte": until}}
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
