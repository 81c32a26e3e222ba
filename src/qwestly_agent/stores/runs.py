"""`agent_runs`: what runs outside of turns, and what the brake stopped of it."""

from datetime import timedelta
from typing import Any

from pymongo import ReturnDocument

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.store import Store

COLLECTION = "agent_runs"
RETENTION = timedelta(days=1)
"""Of a run: a receipt has its name for good."""
LONGEST_RUN_SECONDS = 330.0
"""Longer than any state of a workflow may take. A run whose process died counts as running for so long."""
UNKNOWN_KEPT = timedelta(hours=48)
"""Of an effect whose outcome nobody learnt: as long as the candidate app keeps keys."""


class Runs(Store):
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

    async def begin_effect(self, user_id: str, name: str, now: float) -> float | None:
        """Record that the effect named `name` is being sent, or asked after; return when an attempt did so before whose
        outcome is not known, and None if there was none."""
        ends = to_datetime(now) + UNKNOWN_KEPT
        effect = {"name": name, "begun_at": now, "is_sending": True, "until": ends.timestamp(), "expires_at": ends}
        before = await self.database[COLLECTION].find_one_and_update(
            _effect(user_id, name), {"$set": effect}, upsert=True, return_document=ReturnDocument.BEFORE
        )
        return before["begun_at"] if before else None

    async def end_effect(self, user_id: str, name: str) -> None:
        """Forget an effect whose outcome is known."""
        await self.database[COLLECTION].delete_one(_effect(user_id, name))

    async def leave_effect(self, user_id: str, name: str) -> None:
        """Record that nobody waits for this effect now, and that its outcome is not known."""
        await self.database[COLLECTION].update_one(_effect(user_id, name), {"$set": {"is_sending": False}})


def _effect(user_id: str, name: str) -> Document:
    return {"_id": f"{user_id}:{name}", "user_id": user_id}
