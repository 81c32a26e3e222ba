"""`agent_runs`: work that runs outside of turns, and work that the brake stopped."""

from datetime import timedelta
from typing import Any

from pymongo import ReturnDocument

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.platform.collection import ALL_ACTIONS, Document, Expires, MongoCollection, Store, index

RETENTION = timedelta(days=1)
"""How long a run is kept; a receipt keeps its name for good."""
LONGEST_RUN_SECONDS = 330.0
"""Longer than any state of a workflow may take. A run whose process died counts as running for this long."""
UNKNOWN_KEPT = timedelta(hours=48)
"""How long an effect with an unknown outcome is kept: as long as the candidate app keeps idempotency keys."""
COLLECTION = MongoCollection(
    "agent_runs",
    Expires(max(RETENTION, UNKNOWN_KEPT), since="at most"),
    index("user", "user_id"),
    index("until", "until"),
    index("stopped_at", "stopped_at"),
    holds="running work: ids",
    reader=ALL_ACTIONS,
    opener=ALL_ACTIONS,
)
"""`_id`, `user_id`, `name` (as in receipts), `until`, `stopped_at`, `begun_at`, `is_sending`, `expires_at`: states of
workflows, mails and documents that are under way, and what the brake stopped."""


class Runs(Store):
    async def begin(self, user_id: str, name: str, now: float) -> Any:
        """Record that the named work has started. Returns the key for `end`."""
        until = now + LONGEST_RUN_SECONDS
        run = {"user_id": user_id, "name": name, "until": until, "expires_at": to_datetime(now) + RETENTION}
        return (await self.database[COLLECTION].insert_one(run)).inserted_id

    async def end(self, user_id: str, key: Any) -> None:
        """Delete the record of a run that was not stopped."""
        await self.database[COLLECTION].delete_one({"_id": key, "user_id": user_id})

    async def end_stopped_by_brake(self, user_id: str, key: Any, now: float) -> None:
        """Record that the brake stopped this run."""
        change = {"until": 0.0, "stopped_at": now}
        await self.database[COLLECTION].update_one({"_id": key, "user_id": user_id}, {"$set": change})

    async def record_stopped(self, user_id: str, name: str, now: float) -> None:
        """Record that the brake stopped work before it started."""
        await self.end_stopped_by_brake(user_id, await self.begin(user_id, name, now), now)

    async def begin_effect(self, user_id: str, name: str, now: float) -> float | None:
        """Record that the named effect is being sent or queried. Returns the time of an earlier attempt with an unknown
        outcome, or None."""
        ends = to_datetime(now) + UNKNOWN_KEPT
        effect = {"name": name, "begun_at": now, "is_sending": True, "until": ends.timestamp(), "expires_at": ends}
        before = await self.database[COLLECTION].find_one_and_update(
            _effect(user_id, name), {"$set": effect}, upsert=True, return_document=ReturnDocument.BEFORE
        )
        return before["begun_at"] if before else None

    async def end_effect(self, user_id: str, name: str) -> None:
        """Delete the record of an effect whose outcome is known."""
        await self.database[COLLECTION].delete_one(_effect(user_id, name))

    async def give_up_effect(self, user_id: str, name: str) -> None:
        """Record that an effect is no longer waited for and has an unknown outcome."""
        await self.database[COLLECTION].update_one(_effect(user_id, name), {"$set": {"is_sending": False}})


def _effect(user_id: str, name: str) -> Document:
    return {"_id": f"{user_id}:{name}", "user_id": user_id}
