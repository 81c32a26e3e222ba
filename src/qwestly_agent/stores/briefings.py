"""`agent_briefings`: the collected items and the lines of each briefing. Only delivered briefings are shown."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.briefing import Briefing, BriefingKind, Mailed
from qwestly_agent.platform.collection import Expires, MongoCollection, index
from qwestly_agent.platform.records import Records

RETENTION = timedelta(days=90)
COLLECTION = MongoCollection(
    "agent_briefings",
    Expires(RETENTION),
    index("user_created", "user_id", "-created_at"),
    index("unsubscribe", "unsubscribe", sparse=True),
    holds="briefings, with their sources",
    events=("briefing.told",),
)


class Briefings(Records[Briefing]):
    collection, model, missing = COLLECTION, Briefing, "There is no such briefing."
    nested = ("gathered", "before", "lines")

    def events_of(self, before: Briefing | None, after: Briefing) -> Sequence[ActivityEvent]:
        is_delivered_now = after.delivered_at is not None and (before is None or before.delivered_at is None)
        return [delivered_event(after)] if is_delivered_now else []

    async def get_delivered(self, user_id: str, briefing_id: str) -> Briefing:
        """Get a delivered briefing. Raises `NotFound`."""
        found = await self.get(user_id, briefing_id)
        if found.delivered_at is None:
            raise NotFound(self.missing)
        return found

    async def newest(self, user_id: str, limit: int, after: float | None = None, **query: Any) -> list[Briefing]:
        """List delivered briefings created before `after`, newest first."""
        return await super().newest(user_id, limit, after, delivered_at={"$gt": 0}, **query)

    async def replace_items(self, briefing: Briefing) -> None:
        """Replace the items and lines of a lite briefing, once the missing source is available."""
        changes = {"gathered": briefing.gathered, "lines": briefing.lines, "kind": briefing.kind}
        await self.set_fields(briefing.user_id, briefing.id, changes, kind="lite")

    async def deliver(self, briefing: Briefing, now: float, kind: BriefingKind) -> bool:
        """Deliver the briefing to its user, with an event. Returns False if it was delivered before."""
        before = briefing.model_copy(update={"delivered_at": None})
        after = briefing.model_copy(update={"delivered_at": now, "kind": kind})
        return await self.write(before, after, delivered_at=None)

    async def claim_mail(self, user_id: str, briefing_id: str, unsubscribe: str) -> bool:
        """Claim the mail of a briefing: True for exactly one process. `unsubscribe` is the hash of the token in the
        mail."""
        changes = {"mailed": "claimed", "unsubscribe": unsubscribe}
        return await self.set_fields(user_id, briefing_id, changes, mailed="no")

    async def was_mailed(self, user_id: str) -> bool:
        """True if a briefing of this user was mailed, or may have been."""
        query = {"user_id": user_id, "mailed": {"$in": ["claimed", "sent"]}}
        return await self.database[COLLECTION].find_one(query, {"_id": 1}) is not None

    async def set_mail_status(self, user_id: str, briefing_id: str, mailed: Mailed) -> None:
        await self.set_fields(user_id, briefing_id, {"mailed": mailed})

    async def mark_read(self, user_id: str, briefing_id: str, now: float) -> None:
        """Record when the user first read the briefing."""
        await self.set_fields(user_id, briefing_id, {"read_at": now}, read_at=None)

    async def last_read_at(self, user_id: str) -> float | None:
        """Return when the user last read a briefing."""
        query = {"user_id": user_id, "read_at": {"$gt": 0}}
        found = self.database[COLLECTION].find(query, {"read_at": 1}).sort("created_at", -1).limit(1)
        return next((each["read_at"] for each in await found.to_list()), None)

    async def forget(self, user_id: str, contains_forgotten: Callable[[str], bool]) -> None:
        """Remove lines that contain something forgotten: a next step is quoted from the user."""
        for each in await super().newest(user_id, 0):
            items = tuple(item for item in each.gathered.items if not contains_forgotten(item.title))
            lines = tuple(line for line in each.lines if not contains_forgotten(line.text))
            gathered = each.gathered.model_copy(update={"items": items})
            if (gathered, lines) != (each.gathered, each.lines):
                await self.write(each, each.model_copy(update={"gathered": gathered, "lines": lines}))


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
