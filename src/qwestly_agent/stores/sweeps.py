"""What concerns all users at once. Ids are all that comes back: whoever reads on names the user."""

from collections.abc import Collection
from dataclasses import dataclass

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.stores.conversations import CONVERSATIONS, MESSAGES
from qwestly_agent.stores.search import Document


@dataclass(frozen=True)
class Sweeps:
    database: AsyncDatabase[Document]

    async def running(self, now: float) -> set[str]:
        """The runs that hold a conversation now."""
        found = self.database[CONVERSATIONS].find({"lease_until": {"$gt": now}}, {"holder": 1})
        return {each["holder"] async for each in found if each.get("holder")}

    async def braked(self, run_ids: Collection[str]) -> set[str]:
        """Those of these runs that the brake ended."""
        answers = {"_id": {"$in": [f"{run_id}:assistant" for run_id in run_ids]}}
        found = self.database[MESSAGES].find(answers, {"run_id": 1, "error": 1})
        return {each["run_id"] async for each in found if (each.get("error") or {}).get("code") == "braked"}
