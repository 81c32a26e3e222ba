"""`agent_autonomy`: each user's autonomy level. Only the user writes it: no tool reaches this store."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import DuplicateKeyError

from qwestly_agent.domain.activity import Event
from qwestly_agent.domain.approval import NEW_USERS_LEVEL, UNREADABLE_LEVEL, Level
from qwestly_agent.stores.activity import copy_after_write, with_events
from qwestly_agent.stores.search import Document

COLLECTION = "agent_autonomy"
REMEMBERED_CHANGES = 100


@dataclass(frozen=True)
class Autonomy:
    database: AsyncDatabase[Document]

    async def level(self, user_id: str) -> Level:
        """L1 if the user never chose; L0 if the stored value is not a level."""
        document = await self.database[COLLECTION].find_one({"_id": user_id, "user_id": user_id}, {"level": 1})
        if document is None:
            return NEW_USERS_LEVEL
        return document["level"] if document.get("level") in get_args(Level) else UNREADABLE_LEVEL

    async def set_level(self, user_id: str, level: Level, at: datetime) -> None:
        """Set the level; if it is another one than before, append it to the history of changes."""
        change = {
            "$set": {"level": level, "changed_at": at},
            "$push": {"changes": {"$each": [f"{at.isoformat()} {level}"], "$slice": -REMEMBERED_CHANGES}},
        }
        event = Event(
            id=f"autonomy:{user_id}:{at.timestamp()!r}",
            user_id=user_id,
            at=at.timestamp(),
            type="autonomy.changed",
            role="user",
            title=f"You set your agent's level to {level}",
            data={"level": level},
        )
        other = {"_id": user_id, "user_id": user_id, "level": {"$ne": level}}
        with suppress(DuplicateKeyError):  # it is that level already
            await self.database[COLLECTION].update_one(other, with_events(change, event), upsert=True)
            await copy_after_write(self.database, COLLECTION, user_id, user_id)
