"""Queries across all users, for sweeps. They return ids only; further reads go through the stores, with a user id."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.stores import approvals, drafts, memories
from qwestly_agent.stores.conversations import COLLECTION as CONVERSATIONS
from qwestly_agent.stores.messages import COLLECTION as MESSAGES
from qwestly_agent.stores.search import Document


@dataclass(frozen=True)
class Sweeps:
    database: AsyncDatabase[Document]

    async def running(self, now: float) -> set[str]:
        """Ids of turns that hold a conversation, pipelines that run, and approvals that are being executed."""
        turns = self.database[CONVERSATIONS].find({"lease_until": {"$gt": now}}, {"holder": 1})
        cards = self.database[drafts.COLLECTION].find({"status": "running"}, {"_id": 1})
        effects = self.database[approvals.COLLECTION].find({"status": "executing"}, {"_id": 1})
        return {
            *[each["holder"] async for each in turns if each.get("holder")],
            *[drafts.pipeline(each["_id"]) async for each in cards],
            *[each["_id"] async for each in effects],
        }

    async def braked(self, run_ids: Collection[str]) -> set[str]:
        """Those of these runs that the brake stopped."""
        answers = {"_id": {"$in": [f"{run_id}:assistant" for run_id in run_ids]}}
        turns = self.database[MESSAGES].find(answers, {"run_id": 1, "error": 1})
        cards = self.database[drafts.COLLECTION].find({"status": "stopped"}, {"_id": 1})
        return {
            *[each["run_id"] async for each in turns if (each.get("error") or {}).get("code") == "braked"],
            *[name async for each in cards if (name := drafts.pipeline(each["_id"])) in run_ids],
        }

    async def due_approvals(self, now: float, limit: int) -> list[tuple[str, str]]:
        """`(user_id, approval_id)` of each approval that is due, the longest due first."""
        found = self.database[approvals.COLLECTION].find({"due_at": {"$gt": 0, "$lte": now}}, {"user_id": 1})
        return [(each["user_id"], each["_id"]) async for each in found.sort("due_at", 1).limit(limit)]

    async def oldest_pending_approval(self) -> float | None:
        """Creation time of the oldest pending approval, in seconds since the epoch; None if there is none."""
        # Every pending approval has a `due_at` (at least its expiry), so the index on it serves this query.
        waiting = {"due_at": {"$gt": 0}, "status": "pending"}
        found = self.database[approvals.COLLECTION].find(waiting, {"created_at": 1}).sort("created_at", 1).limit(1)
        return next((each["created_at"] for each in await found.to_list()), None)

    async def silent_conversations(self, now: float, limit: int) -> list[tuple[str, str]]:
        """`(user_id, conversation_id)` of each conversation due for memory extraction, the longest due first."""
        query = {"extract_at": {"$gt": 0, "$lte": now}, "lease_until": {"$lte": now}}
        found = self.database[CONVERSATIONS].find(query, {"user_id": 1, "id": 1})
        return [(each["user_id"], each["id"]) async for each in found.sort("extract_at", 1).limit(limit)]

    async def quarantined(self, limit: int) -> list[tuple[str, str, dict[str, Any]]]:
        """`(user_id, conversation_id, reason)` of each quarantined conversation; the reason says since when."""
        query = {"extract_set_aside.at": {"$gt": 0}}
        found = self.database[CONVERSATIONS].find(query, {"user_id": 1, "id": 1, "extract_set_aside": 1})
        return [(each["user_id"], each["id"], each["extract_set_aside"]) async for each in found.limit(limit)]

    async def users_to_consolidate(self, after: str, limit: int) -> list[str]:
        """Ids greater than `after`, ascending, of users with memories that were not consolidated yet."""
        new = {"consolidated": False, "user_id": {"$gt": after}, "status": memories.ACTIVE}
        stages = [{"$match": new}, {"$group": {"_id": "$user_id"}}, {"$sort": {"_id": 1}}, {"$limit": limit}]
        return [each["_id"] async for each in await self.database[memories.COLLECTION].aggregate(stages)]

    async def approval_of_link(self, hashed: str) -> tuple[str, str] | None:
        """`(user_id, approval_id)` for the link with this hash."""
        # `$in`, because the laptop's database does not match an item of an indexed array by equality.
        found = await self.database[approvals.COLLECTION].find_one({"links": {"$in": [hashed]}}, {"user_id": 1})
        return (found["user_id"], found["_id"]) if found else None
