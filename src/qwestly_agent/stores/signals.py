"""`agent_signals`: stop and brake signals for runs. One document per user, and one for `EVERYBODY`."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.base.errors import Braked
from qwestly_agent.stores.search import Document

COLLECTION = "agent_signals"
REMEMBERED_STOPS = 50
"""More than a user can have running; older ones were read long ago."""


@dataclass(frozen=True)
class Brake:
    """A brake that is on since `since` (seconds since the epoch); `receipt` is None until it is known what stopped."""

    since: float
    receipt: dict[str, Any] | None = None


@dataclass(frozen=True)
class Signals:
    database: AsyncDatabase[Document]

    async def stop(self, user_id: str, run_id: str) -> None:
        await self._update(
            user_id, {"$push": {"stopped_runs": {"$each": [run_id], "$slice": -REMEMBERED_STOPS}}}, upsert=True
        )

    async def stopped(self, user_id: str, run_ids: Collection[str]) -> set[str]:
        """Those of these runs that the user stopped. Raises `Braked` if the user's brake is on."""
        document = await self._find(user_id, {"stopped_runs": 1, "brake": 1}) or {}
        if document.get("brake"):
            raise Braked
        return set(run_ids) & set(document.get("stopped_runs", []))

    async def check_brake(self, user_id: str) -> None:
        """Raises `Braked` if the brake of this user, or of `EVERYBODY`, is on."""
        if await self.brake(user_id):
            raise Braked

    async def brake(self, user_id: str) -> Brake | None:
        """The brake of this user, or of `EVERYBODY`; None if it is off."""
        kept = (await self._find(user_id, {"brake": 1}) or {}).get("brake")
        return Brake(kept["since"], kept.get("receipt")) if kept else None

    async def brake_on(self, user_id: str, now: float) -> None:
        """Turn the brake on (idempotent: `since` stays the first time)."""
        if await self.brake(user_id) is None:
            await self._update(user_id, {"$set": {"brake": {"since": now}}}, upsert=True)

    async def brake_off(self, user_id: str) -> None:
        await self._update(user_id, {"$unset": {"brake": ""}})

    async def keep_receipt(self, user_id: str, since: float, receipt: dict[str, Any]) -> None:
        """Store the receipt if this brake is still on."""
        await self.database[COLLECTION].update_one(
            {"_id": user_id, "user_id": user_id, "brake.since": since}, {"$set": {"brake.receipt": receipt}}
        )

    async def _find(self, user_id: str, fields: dict[str, int]) -> Document | None:
        return await self.database[COLLECTION].find_one({"_id": user_id, "user_id": user_id}, fields)

    async def _update(self, user_id: str, change: Document, *, upsert: bool = False) -> None:
        await self.database[COLLECTION].update_one({"_id": user_id, "user_id": user_id}, change, upsert=upsert)
