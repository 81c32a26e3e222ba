"""What concerns all users at once. Ids are all that comes back: whoever reads on names the user."""

from collections.abc import Collection
from dataclasses import dataclass

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.stores import approvals, drafts
from qwestly_agent.stores.conversations import CONVERSATIONS, MESSAGES
from qwestly_agent.stores.search import Document


@dataclass(frozen=True)
class Sweeps:
    database: AsyncDatabase[Document]

    async def running(self, now: float) -> set[str]:
        """The turns that hold a conversation now, pipelines, and effects that are being carried out."""
        turns = self.database[CONVERSATIONS].find({"lease_until": {"$gt": now}}, {"holder": 1})
        cards = self.database[drafts.COLLECTION].find({"status": "running"}, {"_id": 1})
        effects = self.database[approvals.COLLECTION].find({"status": "executing"}, {"_id": 1})
        return {
            *[each["holder"] async for each in turns if each.get("holder")],
            *[drafts.pipeline(each["_id"]) async for each in cards],
            *[each["_id"] async for each in effects],
        }

    async def braked(self, run_ids: Collection[str]) -> set[str]:
        """Those of these runs that the brake ended."""
        answers = {"_id": {"$in": [f"{run_id}:assistant" for run_id in run_ids]}}
        turns = self.database[MESSAGES].find(answers, {"run_id": 1, "error": 1})
        cards = self.database[drafts.COLLECTION].find({"status": "stopped"}, {"_id": 1})
        return {
            *[each["run_id"] async for each in turns if (each.get("error") or {}).get("code") == "braked"],
            *[name async for each in cards if (name := drafts.pipeline(each["_id"])) in run_ids],
        }

    async def due_approvals(self, now: float, limit: int) -> list[tuple[str, str]]:
        """The user and id of each that must be looked at, the longest due first."""
        found = self.database[approvals.COLLECTION].find({"due_at": {"$gt": 0, "$lte": now}}, {"user_id": 1})
        return [(each["user_id"], each["_id"]) async for each in found.sort("due_at", 1).limit(limit)]

    async def approval_of_link(self, hashed: str) -> tuple[str, str] | None:
        """The user and id of the record that a link with this hash was mailed for."""
        # With `$in`: where there is an index, the laptop's database finds no array by one of its items.
        found = await self.database[approvals.COLLECTION].find_one({"links": {"$in": [hashed]}}, {"user_id": 1})
        return (found["user_id"], found["_id"]) if found else None
