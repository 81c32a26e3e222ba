"""`agent_runs`: what runs outside of turns, and what the brake stopped of it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.stores.search import Document

COLLECTION = "agent_runs"
RETENTION = timedelta(days=1)
"""Of a run: a receipt has its name for good."""
LONGEST_RUN_SECONDS = 330.0
"""Longer than any state of a workflow may take. A run whose process died counts as running for so long."""


@dataclass(frozen=True)
class Runs:
    database: AsyncDatabase[Document]

    async def begin(self, user_id: str, name: str, now: float) -> Any:
        """Record that something named `name` runs; return the key to `end` it with."""
        until = now + LONGEST_RUN_SECONDS
        run = {"user_id": user_id, "name": name, "until": until, "expires_at": to_datetime(now) + RETENTION}
        return (await self.database[COLLECTION].insert_one(run)).inserted_id

    async def end(self, user_id: str, key: Any) -> None:
        """Forget a run that ended by itself."""
        await self.database[COLLECTION].delete_one({"_id": key, "user_id": user_id})

    async def end_stopped(self, user_id: str, key: Any, now: float) -> None:
        """Record that the brake stopped this run."""
        change = {"until": 0.0, "stopped_at": now}
        await self.database[COLLECTION].update_one({"_id": key, "user_id": user_id}, {"$set": change})

    async def note_stopped(self, user_id: str, name: str, now: float) -> None:
        """Record that the brake stopped what had not begun."""
        await self.end_stopped(user_id, await self.begin(user_id, name, now), now)
