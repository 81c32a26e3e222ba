"""`agent_briefings`: the collected items and the lines of each briefing. Only delivered briefings are shown."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.briefing import Briefing, BriefingKind, Mailed
from qwestly_agent.platform.collection import Expires, MongoCollection, index
from qwestly_agent.platform.outbox import copy_after_write, outbox_fields, with_events
from qwestly_agent.platform.store import Document, Store

RETENTION = timedelta(days=90)
COLLECTION = MongoCollection(
    "agent_briefings",
    Expires(RETENTION),
    index("user_created", "user_id", "-created_at"),
    index("unsubscribe", "unsubscribe", sparse=True),
    holds="briefings, with their sources",
    events=("briefing.told",),
)

_NESTED = ("gathered", "before", "lines")


class Briefings(Store):
    async def add(self, briefing: Briefing) -> bool:
        """Insert a briefing. Returns False if it exists already."""
        expires_at = to_datetime(briefing.created_at) + RETENTION
        events = [delivered_event(briefing)] if briefing.delivered_at is not None else []
        try:
            await self.database[COLLECTION].insert_one(
                {**_document(briefing), "expires_at": expires_at, **outbox_fields(*events)}
            )
        except DuplicateKeyError:
            return False
        if events:
            await copy_after_write(self.database, COLLECTION, briefing.user_id, briefing.id)
        return True

    async def get(self, user_id: str, briefing_id: str) -> Briefing:
        """Get a briefing, delivered or not. Raises `NotFound`."""
        found = await self.database[COLLECTION].find_one({"_id": briefing_id, "user_id": user_id})
        if found is None:
            raise NotFound("There is no such briefing.")
        return _briefing(found)

    async def get_delivered(self, user_id: str, briefing_id: str) -> Briefing:
        """Get a delivered briefing. Raises `NotFound`."""
        found = await self.get(user_id, briefing_id)
        if found.delivered_at is None:
            raise NotFound("There is no such briefing.")
        return found

    async def newest(self, user_id: str, limit: int, after: float | None = None) -> list[Briefing]:
        """List delivered briefings created before `after`, newest first."""
        query: Document = {"user_id": user_id, "delivered_at": {"$gt": 0}}
        if after is not None:
            query |= {"created_at": {"$lt": after}}
        found = self.database[COLLECTION].find(query).sort("created_at", -1).limit(limit)
        return [_briefing(each) async for each in found]

    async def replace_items(self, briefing: Briefing) -> None:
        """Replace the items and lines of a lite briefing, once the missing source is available."""
        again = _document(briefing)
        changes = {name: again[name] for name in ("gathered", "lines", "kind")}
        await self._set(briefing.user_id, briefing.id, changes, kind="lite")

    async def deliver(self, briefing: Briefing, now: float, kind: BriefingKind) -> bool:
        """Deliver the briefing to its user, with an event. Returns False if it was delivered before."""
        told = briefing.model_copy(update={"delivered_at": now, "kind": kind})
        changed = await self.database[COLLECTION].update_one(
            {"_id": briefing.id, "user_id": briefing.user_id, "delivered_at": None},
            with_events({"$set": {"delivered_at": now, "kind": kind}}, delivered_event(told)),
        )
        await copy_after_write(self.database, COLLECTION, briefing.user_id, briefing.id)
        return bool(changed.matched_count)

    async def claim_mail(self, user_id: str, briefing_id: str, unsubscribe: str) -> bool:
        """Claim the mail of a briefing: True for exactly one process. `unsubscribe` is the hash of the token in the
        mail."""
        changes = {"mailed": "claimed", "unsubscribe": unsubscribe}
        return await self._set(user_id, briefing_id, changes, mailed="no")

    async def was_mailed(self, user_id: str) -> bool:
        """True if a briefing of this user was mailed, or may have been."""
        query = {"user_id": user_id, "mailed": {"$in": ["claimed", "sent"]}}
        return await self.database[COLLECTION].find_one(query, {"_id": 1}) is not None

    async def set_mail_status(self, user_id: str, briefing_id: str, mailed: Mailed) -> None:
        await self._set(user_id, briefing_id, {"mailed": mailed})

    async def mark_read(self, user_id: str, briefing_id: str, now: float) -> None:
        """Record when the user first read the briefing."""
        await self._set(user_id, briefing_id, {"read_at": now}, read_at=None)

    async def last_read_at(self, user_id: str) -> float | None:
        """Return when the user last read a briefing."""
        query = {"user_id": user_id, "read_at": {"$gt": 0}}
        found = self.database[COLLECTION].find(query, {"read_at": 1}).sort("created_at", -1).limit(1)
        return next((each["read_at"] for each in await found.to_list()), None)

    async def forget(self, user_id: str, contains_forgotten: Callable[[str], bool]) -> None:
        """Remove lines that contain something forgotten: a next step is quoted from the user."""
        found = self.database[COLLECTION].find({"user_id": user_id})
        for each in [_briefing(document) async for document in found]:
            items = tuple(item for item in each.gathered.items if not contains_forgotten(item.title))
            lines = tuple(line for line in each.lines if not contains_forgotten(line.text))
            if len(items) == len(each.gathered.items) and len(lines) == len(each.lines):
                continue
            gathered = each.gathered.model_copy(update={"items": items})
            left = _document(each.model_copy(update={"gathered": gathered, "lines": lines}))
            await self._set(user_id, each.id, {name: left[name] for name in ("gathered", "lines")})

    async def _set(self, user_id: str, briefing_id: str, changes: Document, **if_still: Any) -> bool:
        here = {"_id": briefing_id, "user_id": user_id, **if_still}
        return bool((await self.database[COLLECTION].update_one(here, {"$set": changes})).matched_count)


def delivered_event(briefing: Briefing) -> ActivityEvent:
    """The event of a delivered briefing."""
    title = "Nothing new" if briefing.kind == "nothing" else "Your briefing is here"
    return ActivityEvent(
        id=f"{briefing.id}:told",
        user_id=briefing.user_id,
        at=briefing.delivered_at or briefing.created_at,
        type="briefing.told",
        role="briefing",
        title=title,
        run_id=briefing.run_id,
        data={"briefing_id": briefing.id, "kind": briefing.kind},
    )


def _document(briefing: Briefing) -> Document:
    flat = briefing.model_dump(mode="json", exclude={"id", *_NESTED})
    # As text, so that MongoDB does not interpret its keys.
    nested = {name: json.dumps(briefing.model_dump(mode="json", include={name})[name]) for name in _NESTED}
    return {**flat, **nested, "_id": briefing.id}


def _briefing(document: Document) -> Briefing:
    fields = {name: value for name, value in document.items() if name in Briefing.model_fields}
    nested = {name: json.loads(document[name]) for name in _NESTED}
    return Briefing.model_validate({**fields, **nested, "id": document["_id"]})
