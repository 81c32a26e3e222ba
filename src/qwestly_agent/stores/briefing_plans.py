"""The schedule of each user's briefings, and what earlier ones covered: fields of `agent_settings`, next to the time
zone."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.briefing import BriefingSettings, Planned, next_briefing
from qwestly_agent.platform.collection import Document, Store
from qwestly_agent.stores.user_settings import COLLECTION, UserSettings

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
    """By source: the time of the newest item that a briefing covered."""
    changed_at: float | None
    """When these settings were last changed."""


class BriefingPlans(Store):
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
        chosen."""
        plan = await self.get(user_id)
        settings = plan.settings.model_copy(update={"on": True})
        planned = _fields(next_briefing(settings, plan.zone, now, plan.last_day))
        with suppress(DuplicateKeyError):  # chosen or turned on before
            await self.database[COLLECTION].update_one(
                {"_id": user_id, "user_id": user_id, f"{_PREFIX}on": {"$exists": False}},
                {"$set": {f"{_PREFIX}on": True, **planned}},
                upsert=True,
            )

    async def reschedule(self, user_id: str, now: float) -> Planned | None:
        """Reschedule the next briefing after a change of settings or zone, and return it."""
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
