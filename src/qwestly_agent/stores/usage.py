"""`agent_usage`: rate and cost per user, and the stage's daily limit. One document per user, so that one command can
admit a turn."""

import math
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import StageOverBudget, Unavailable
from qwestly_agent.base.observability import measure_stage_over_budget
from qwestly_agent.platform.collection import ALL_ACTIONS, Document, Expires, MongoCollection, Store, across_users
from qwestly_agent.platform.records import TRIES

MINUTE_SECONDS = 60.0
DAYS_KEPT = 31
COLLECTION = MongoCollection(
    "agent_usage",
    Expires(timedelta(days=DAYS_KEPT), since="after the last turn"),
    holds="turns and cost of each day",
    reader=ALL_ACTIONS,
)
"""`_id` and `user_id`, `running` (by run id: when it began), `recent` (the last 100 turns, `time:run`), `days` (by
date: `turns`, `cost_usd`, `input_tokens`, `cached_tokens`, `output_tokens`), `expires_at`."""
REMEMBERED_MESSAGES = 1_000
"""More messages than a user may send in a minute or have running at once, so that refused messages do not displace
those that count."""


@dataclass(frozen=True)
class Load:
    """A user's load when a new turn is to be admitted, not including that turn."""

    running: Mapping[str, float]
    """Start times of unsettled runs. A run whose process died stays until `release` is called."""
    last_minute: tuple[float, ...]
    """Times at which messages were sent, oldest first."""
    spent_today_usd: float
    days: tuple[str, ...] = ()
    """Days (UTC) with stored usage."""


class Usage(Store):
    async def begin_turn(self, user_id: str, run_id: str, now: float) -> Load:
        """Count a turn. Concurrent turns are serialized: each sees those before it. Raises `Unavailable`."""
        new: Document = {"recent": [_mark(run_id, now)], "running": {run_id: now}}
        for _ in range(TRIES):
            if (document := await self._enter(user_id, run_id, now)) is not None:
                return _load(document, run_id, now)
            # Two concurrent turns of a new user both find nothing; the one whose insert fails here finds the other on
            # the retry.
            with suppress(DuplicateKeyError):
                await self.database[COLLECTION].insert_one(
                    {"_id": user_id, "user_id": user_id, **new, **_retention(now)}
                )
                return _load(new, run_id, now)
        raise Unavailable

    async def attach(self, user_id: str, reader_id: str, now: float) -> Load:
        """Count a client that re-reads a running answer as a running turn, until it leaves or fails to renew within one
        lease. Concurrent calls are serialized: each sees the ones before it."""
        document = await self.database[COLLECTION].find_one_and_update(
            {"_id": user_id, "user_id": user_id}, {"$set": {f"running.{reader_id}": now}}
        )
        return _load(document or {}, reader_id, now)

    async def end_turn(self, user_id: str, run_id: str, now: float) -> None:
        """Undo `begin_turn`. Delete the document if nothing else is in it, because the user may have been erased
        meanwhile."""
        left = await self.database[COLLECTION].find_one_and_update(
            {"_id": user_id, "user_id": user_id},
            {"$pull": {"recent": _mark(run_id, now)}, "$unset": {f"running.{run_id}": ""}},
            return_document=ReturnDocument.AFTER,
        )
        if left and not (left.get("recent") or left.get("running") or "days" in left):
            unused = {"recent": {"$size": 0}, "days": {"$exists": False}}  # each turn adds itself to `recent`
            await self.database[COLLECTION].delete_one({"_id": user_id, "user_id": user_id, **unused})

    async def settle(self, user_id: str, run_id: str, spent: Mapping[str, float], load: Load, now: float) -> bool:
        """End a turn: add its amounts to the day, and drop days older than `DAYS_KEPT`. Returns False if the user was
        erased since the turn began."""
        day, oldest = f"days.{day_of(now)}", day_of(now - DAYS_KEPT * 86_400)
        counted = {f"{day}.{name}": amount for name, amount in spent.items() if amount}
        past = {f"days.{each}": "" for each in load.days if each < oldest}
        settled = await self.database[COLLECTION].update_one(
            {"_id": user_id, "user_id": user_id},
            {
                "$inc": {f"{day}.turns": 1, **counted},
                "$unset": {f"running.{run_id}": "", **past},
                "$set": _retention(now),
            },
        )
        return bool(settled.matched_count)

    async def ensure_document(self, user_id: str, now: float) -> None:
        """Create the document for a user who has not had a turn yet (idempotent)."""
        here, new = {"_id": user_id, "user_id": user_id}, {"recent": [], "running": {}, "days": {}, **_retention(now)}
        await self.database[COLLECTION].update_one(here, {"$setOnInsert": new}, upsert=True)

    async def spent_today(self, user_id: str, now: float) -> float:
        """Return today's cost in US dollars."""
        found = await self.database[COLLECTION].find_one({"_id": user_id, "user_id": user_id}, {"days": 1})
        return _spent(found or {}, now)

    @across_users
    async def stage_spent_today(self, now: float) -> float:
        """Return today's cost (UTC) of all users together, in US dollars."""
        midnight = to_datetime(now).replace(hour=0, minute=0, second=0, microsecond=0)
        # A document expires a fixed time after its last spending, so the index finds exactly the users who spent today.
        match = {"expires_at": {"$gte": midnight + timedelta(days=DAYS_KEPT)}}
        total = {"_id": None, "cost_usd": {"$sum": f"$days.{day_of(now)}.cost_usd"}}
        found = await self.database[COLLECTION].aggregate([{"$match": match}, {"$group": total}])
        return sum([float(each["cost_usd"] or 0.0) async for each in found])

    async def add_spending(self, user_id: str, amounts: Mapping[str, float], now: float) -> None:
        """Add amounts spent outside of turns to the day. Only `begin_turn` and `ensure_document` create the document,
        so that a workflow that ends after its user was erased leaves nothing behind."""
        counted = {f"days.{day_of(now)}.{name}": amount for name, amount in amounts.items()}
        await self.database[COLLECTION].update_one(
            {"_id": user_id, "user_id": user_id}, {"$inc": counted, "$set": _retention(now)}
        )

    async def release(self, user_id: str, run_ids: Collection[str]) -> None:
        """Stop counting runs whose process died."""
        await self.database[COLLECTION].update_one(
            {"_id": user_id, "user_id": user_id}, {"$unset": {f"running.{run_id}": "" for run_id in run_ids}}
        )

    async def _enter(self, user_id: str, run_id: str, now: float) -> Document | None:
        return await self.database[COLLECTION].find_one_and_update(
            {"_id": user_id, "user_id": user_id},
            {
                "$push": {"recent": {"$each": [_mark(run_id, now)], "$slice": -REMEMBERED_MESSAGES}},
                "$set": {f"running.{run_id}": now},
            },
            return_document=ReturnDocument.AFTER,
        )


def _load(document: Document, run_id: str, now: float) -> Load:
    marks = [mark.partition(":") for mark in document.get("recent", [])]
    place = next((n for n, (_, _, run) in enumerate(marks) if run == run_id), len(marks))
    later = {run for _, _, run in marks[place:]}
    days = document.get("days", {})
    return Load(
        running={run: at for run, at in document.get("running", {}).items() if run not in later},
        last_minute=tuple(float(at) for at, _, _ in marks[:place] if float(at) > now - MINUTE_SECONDS),
        spent_today_usd=_spent(document, now),
        days=tuple(days),
    )


def _spent(document: Document, now: float) -> float:
    return float(document.get("days", {}).get(day_of(now), {}).get("cost_usd", 0.0))


def _mark(run_id: str, now: float) -> str:
    return f"{now:.3f}:{run_id}"


def day_of(now: float) -> str:
    """Return the day in UTC, in the form of a field name."""
    return f"{to_datetime(now):%Y-%m-%d}"


def _retention(now: float) -> Document:
    return {"expires_at": to_datetime(now) + timedelta(days=DAYS_KEPT)}


# --- stage day --------------------------------------------------------------------------------------------------------
# The cost of all users together since midnight UTC, and the stage's daily limit.


DAY_SECONDS = 86_400
READ_AGAIN_SECONDS = 60.0
WORKFLOWS_UP_TO = 0.8
"""The share of the ceiling above which workflows wait. The rest is reserved for chat turns."""


class StageDay:
    def __init__(self, usage: Usage, ceiling_usd: float) -> None:
        self.usage = usage
        self.ceiling_usd = ceiling_usd
        """0 for no ceiling; in that case nothing is read."""
        self._spent_usd = 0.0
        self._read_at = -math.inf

    async def check(self, now: float, share: float = 1.0) -> None:
        """Raise `StageOverBudget` if this share of the ceiling is spent."""
        if await self.is_spent(now, share):
            raise StageOverBudget(retry_after=math.ceil(DAY_SECONDS - now % DAY_SECONDS))

    async def is_spent(self, now: float, share: float) -> bool:
        """True if this share of the ceiling is spent, according to a sum that is at most a minute old."""
        if not self.ceiling_usd:
            return False
        if now - self._read_at > READ_AGAIN_SECONDS:
            self._spent_usd, self._read_at = await self.usage.stage_spent_today(now), now
        if self._spent_usd < share * self.ceiling_usd:
            return False
        measure_stage_over_budget()
        return True
