"""Stores of briefings: each user's schedule, and each briefing's collected items and lines."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pydantic import ValidationError
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.briefing import Briefing, BriefingKind, BriefingSettings, Mailed, Planned, next_briefing
from qwestly_agent.platform.collection import Document, Expires, MongoCollection, Schedule, across_users, index
from qwestly_agent.platform.records import Records
from qwestly_agent.stores.runs import SWEEPS
from qwestly_agent.stores.user_settings import COLLECTION, UserSettings

# --- briefing plans ---------------------------------------------------------------------------------------------------
# The schedule of each user's briefings, and what earlier briefings covered. The fields are in `agent_settings`, next to
# the time zone.


_PREFIX = "briefing_"


@dataclass(frozen=True)
class BriefingPlan:
    """A user's briefing settings and next briefing."""

    user_id: str
    settings: BriefingSettings
    zone: str
    next: Planned | None
    """None if briefings are off."""
    last_day: str | None
    """Local date of the last briefing."""
    marks: Mapping[str, float]
    """By source: the time of the newest item covered by a briefing."""
    changed_at: float | None
    """When the settings were last changed."""


class BriefingPlans(Schedule):
    collection, due_field = COLLECTION, f"{_PREFIX}at"

    async def get(self, user_id: str) -> BriefingPlan:
        found = await self.database[COLLECTION].find_one({"_id": user_id, "user_id": user_id})
        return _plan(user_id, found or {})

    async def change(self, user_id: str, chosen: Mapping[str, Any], now: float) -> None:
        """Set the given fields of the settings; the others are unchanged."""
        changes = {f"{_PREFIX}{name}": list(value) if name == "days" else value for name, value in chosen.items()}
        await self.database[COLLECTION].update_one(
            {"_id": user_id, "user_id": user_id},
            {"$set": {**changes, f"{_PREFIX}changed_at": now, "changed_at": to_datetime(now)}},
            upsert=True,
        )

    async def turn_on(self, user_id: str, now: float) -> None:
        """Turn briefings on and schedule the first one. Does nothing if they were turned on before or the user has
        already made a choice."""
        plan = await self.get(user_id)
        settings = plan.settings.model_copy(update={"on": True})
        planned = _fields(next_briefing(settings, plan.zone, now, plan.last_day))
        with suppress(DuplicateKeyError):  # the user chose, or briefings were turned on before
            await self.database[COLLECTION].update_one(
                {"_id": user_id, "user_id": user_id, f"{_PREFIX}on": {"$exists": False}},
                {"$set": {f"{_PREFIX}on": True, **planned}},
                upsert=True,
            )

    async def reschedule(self, user_id: str, now: float) -> Planned | None:
        """Reschedule the next briefing after a change to settings or time zone, and return it."""
        plan = await self.get(user_id)
        planned = next_briefing(plan.settings, plan.zone, now, plan.last_day) if plan.settings.on else None
        change: Document = (
            {"$set": _fields(planned)} if planned else {"$unset": {f"{_PREFIX}at": "", f"{_PREFIX}day": ""}}
        )
        await self.database[COLLECTION].update_one({"_id": user_id, "user_id": user_id}, change)
        return planned

    async def schedule_next(self, plan: BriefingPlan, now: float) -> None:
        """Schedule the briefing after `plan.next`, unless the plan was changed meanwhile."""
        if plan.next is None:
            return
        following = next_briefing(plan.settings, plan.zone, max(now, plan.next.at), plan.next.day)
        await self.database[COLLECTION].update_one(
            {"_id": plan.user_id, "user_id": plan.user_id, f"{_PREFIX}at": plan.next.at},
            {"$set": {**_fields(following), f"{_PREFIX}told": plan.next.day}},
        )

    async def advance_marks(self, user_id: str, marks: Mapping[str, float]) -> None:
        """Advance the marks of covered items; a mark never moves back."""
        known = (await self.get(user_id)).marks
        later = {**known, **{name: max(at, known.get(name, 0.0)) for name, at in marks.items()}}
        await self.database[COLLECTION].update_one(
            {"_id": user_id, "user_id": user_id}, {"$set": {f"{_PREFIX}marks": json.dumps(later)}}
        )


def _fields(planned: Planned) -> Document:
    return {f"{_PREFIX}at": planned.at, f"{_PREFIX}day": planned.day}


def _plan(user_id: str, document: Document) -> BriefingPlan:
    own = {name.removeprefix(_PREFIX): value for name, value in document.items() if name.startswith(_PREFIX)}
    try:
        settings = BriefingSettings.model_validate(own)
    except ValidationError:  # unreadable settings count as off
        settings = BriefingSettings()
    zone = UserSettings.model_validate(document).zone
    planned = Planned(own["at"], own["day"]) if settings.on and "at" in own else None
    marks = json.loads(own.get("marks", "{}"))
    return BriefingPlan(user_id, settings, zone, planned, own.get("told"), marks, own.get("changed_at"))


# --- briefings --------------------------------------------------------------------------------------------------------
# `agent_briefings`: the collected items and lines of each briefing. Only delivered briefings are shown.


RETENTION = timedelta(days=90)
BRIEFINGS = MongoCollection(
    "agent_briefings",
    Expires(RETENTION),
    index("user_created", "user_id", "-created_at"),
    index("unsubscribe", "unsubscribe", sparse=True),
    holds="briefings, with their sources",
    events=("briefing.told",),
)


class Briefings(Records[Briefing]):
    collection, model, missing = BRIEFINGS, Briefing, "There is no such briefing."
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
        """Deliver the briefing to its user, with an event. Returns False if it was already delivered."""
        before = briefing.model_copy(update={"delivered_at": None})
        after = briefing.model_copy(update={"delivered_at": now, "kind": kind})
        return await self.write(before, after, delivered_at=None)

    async def claim_mail(self, user_id: str, briefing_id: str, unsubscribe: str) -> bool:
        """Claim the mail of a briefing; True for exactly one process. `unsubscribe` is the hash of the token in the
        mail."""
        changes = {"mailed": "claimed", "unsubscribe": unsubscribe}
        return await self.set_fields(user_id, briefing_id, changes, mailed="no")

    async def count_mail(self, day: str, most: int) -> bool:
        """Count one mail for this day (UTC), for all users together. Returns False if the limit is reached."""
        mails, name = self.database[SWEEPS], f"briefing mails {day}"
        await mails.update_one({"_id": name}, {"$setOnInsert": {"position": 0}}, upsert=True)
        counted = await mails.update_one({"_id": name, "position": {"$lt": most}}, {"$inc": {"position": 1}})
        return bool(counted.matched_count)

    @across_users
    async def find_user_by_token(self, hashed: str) -> str | None:
        """Return the recipient of the mail whose token has this hash."""
        found = await self.database[BRIEFINGS].find_one({"unsubscribe": hashed}, {"user_id": 1})
        return found["user_id"] if found else None

    async def was_mailed(self, user_id: str) -> bool:
        """True if any briefing was mailed to this user, or may have been."""
        query = {"user_id": user_id, "mailed": {"$in": ["claimed", "sent"]}}
        return await self.database[BRIEFINGS].find_one(query, {"_id": 1}) is not None

    async def set_mail_status(self, user_id: str, briefing_id: str, mailed: Mailed) -> None:
        await self.set_fields(user_id, briefing_id, {"mailed": mailed})

    async def mark_read(self, user_id: str, briefing_id: str, now: float) -> None:
        """Record when the user first read the briefing."""
        await self.set_fields(user_id, briefing_id, {"read_at": now}, read_at=None)

    async def last_read_at(self, user_id: str) -> float | None:
        """Return when the user last read a briefing."""
        query = {"user_id": user_id, "read_at": {"$gt": 0}}
        found = self.database[BRIEFINGS].find(query, {"read_at": 1}).sort("created_at", -1).limit(1)
        return next((each["read_at"] for each in await found.to_list()), None)

    async def forget(self, user_id: str, contains_forgotten: Callable[[str], bool]) -> None:
        """Remove lines that contain something forgotten, since a next step quotes the user."""
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
