"""`agent_signals`: what must reach a run that is under way. One document per user."""

from collections.abc import Collection
from dataclasses import dataclass

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.stores.search import Document

COLLECTION = "agent_signals"
REMEMBERED_STOPS = 50
"""More than a user can have running; older ones have long been read."""


@dataclass(frozen=True)
class Signals:
    database: AsyncDatabase[Document]

    async def stop(self, user_id: str, run_id: str) -> None:
        await self.database[COLLECTION].update_one(
            {"_id": user_id, "user_id": user_id},
            {"$push": {"stopped_runs": {"$each": [run_id], "$slice": -REMEMBERED_STOPS}}},
            upsert=True,
        )

    async def stopped(self, user_id: str, run_ids: Collection[str]) -> set[str]:
        """Which of these runs must stop."""
        document = await self.database[COLLECTION].find_one({"_id": user_id, "user_id": user_id}, {"stopped_runs": 1})
        return set(run_ids) & set((document or {}).get("stopped_runs", []))
