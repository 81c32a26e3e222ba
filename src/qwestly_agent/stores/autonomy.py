"""`agent_autonomy`: each user's autonomy level. Only the user sets it; no tool can reach this store."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import get_args

from pydantic import ValidationError
from pymongo.errors import DuplicateKeyError

from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.approval import NEW_USERS_LEVEL, UNREADABLE_LEVEL, Level
from qwestly_agent.domain.earned import LADDER, Grant, Standing, higher
from qwestly_agent.stores.activity import copy_after_write, with_events
from qwestly_agent.stores.collection import MongoCollection, Permanent
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.store import Store

COLLECTION = MongoCollection(
    "agent_autonomy",
    Permanent("One document per user: the chosen level, and earned levels."),
    holds="the level, and earned levels",
    has_outbox=True,
)
"""`_id` and `user_id`, `level`, `ceiling` (the top of what may be earned), `earned` (each grant), `changed_at`,
`changes` (the last ones, with their times)."""
REMEMBERED_CHANGES = 100


class Autonomy(Store):
    async def level(self, user_id: str) -> Level:
        """Return the user's level: L1 if none was chosen, L0 if the stored value is not a level."""
        document = await self.database[COLLECTION].find_one({"_id": user_id, "user_id": user_id}, {"level": 1})
        if document is None:
            return NEW_USERS_LEVEL
        return document["level"] if document.get("level") in get_args(Level) else UNREADABLE_LEVEL

    async def get(self, user_id: str) -> Standing:
        """Return the user's level, the ceiling up to which the agent may earn rights (initially the level), and the
        earned grants."""
        fields = dict.fromkeys(("level", "ceiling", "earned"), 1)
        document = await self.database[COLLECTION].find_one({"_id": user_id, "user_id": user_id}, fields)
        if document is None:
            return Standing(NEW_USERS_LEVEL, NEW_USERS_LEVEL)
        level = document["level"] if document.get("level") in LADDER else UNREADABLE_LEVEL
        ceiling = document["ceiling"] if document.get("ceiling") in LADDER else level
        return Standing(level, higher(level, ceiling), tuple(_grants(document)))

    async def set_ceiling(self, user_id: str, ceiling: Level, at: datetime) -> None:
        """Set the highest level that the agent may earn."""
        change = {"$set": {"ceiling": ceiling}, "$setOnInsert": {"level": NEW_USERS_LEVEL, "changed_at": at}}
        event = ActivityEvent(
            id=f"ceiling:{user_id}:{at.timestamp()!r}",
            user_id=user_id,
            at=at.timestamp(),
            type="autonomy.ceiling",
            role="user",
            title=f"You set how far your agent may earn its way to {ceiling}",
            data={"level": ceiling},
        )
        await self._change(
            {"_id": user_id, "user_id": user_id, "ceiling": {"$ne": ceiling}}, change, event, upsert=True
        )

    async def grant(self, user_id: str, grant: Grant) -> None:
        """Grant a higher level for one kind of change. The feed shows its approval's event."""
        query = {"_id": user_id, "user_id": user_id}
        await self.database[COLLECTION].update_one(query, {"$set": {f"earned.{_key(grant)}": grant.model_dump()}})

    async def revoke(self, user_id: str, grant: Grant, at: float) -> None:
        """Revoke a grant, if it is still the same one."""
        key = f"earned.{_key(grant)}"
        event = ActivityEvent(
            id=f"{user_id}:{_key(grant)}:{grant.since!r}:taken_back",
            user_id=user_id,
            at=at,
            type="autonomy.taken_back",
            role="user",
            title="Your agent asks you again",
            data={"tool": grant.tool, "level": grant.level},
        )
        await self._change(
            {"_id": user_id, "user_id": user_id, f"{key}.since": grant.since}, {"$unset": {key: ""}}, event
        )

    async def _change(self, query: Document, change: Document, event: ActivityEvent, *, upsert: bool = False) -> None:
        with suppress(DuplicateKeyError):  # unchanged
            await self.database[COLLECTION].update_one(query, with_events(change, event), upsert=upsert)
            await copy_after_write(self.database, COLLECTION, query["user_id"], query["user_id"])

    async def set_level(self, user_id: str, level: Level, at: datetime) -> None:
        """Set level and ceiling, and append the level to the history. Earning beyond it must be allowed again."""
        change = {
            "$set": {"level": level, "ceiling": level, "changed_at": at},
            "$push": {"changes": {"$each": [f"{at.isoformat()} {level}"], "$slice": -REMEMBERED_CHANGES}},
        }
        event = ActivityEvent(
            id=f"autonomy:{user_id}:{at.timestamp()!r}",
            user_id=user_id,
            at=at.timestamp(),
            type="autonomy.changed",
            role="user",
            title=f"You set your agent's level to {level}",
            data={"level": level},
        )
        await self._change({"_id": user_id, "user_id": user_id, "level": {"$ne": level}}, change, event, upsert=True)


def _key(grant: Grant) -> str:
    return f"{grant.tool}:{grant.subject}"


def _grants(document: Document) -> Iterator[Grant]:
    """Yield the stored grants; unreadable ones are skipped."""
    earned = document.get("earned")
    for each in earned.values() if isinstance(earned, dict) else ():
        with suppress(ValidationError):
            yield Grant.model_validate(each)
