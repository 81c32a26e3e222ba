"""Running work: `agent_runs` (work that the brake waits for or has stopped), and the position of each sweep."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from uuid import uuid4

from pymongo import ReturnDocument

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.approval import EVERYBODY, SENT
from qwestly_agent.domain.briefing import run_of
from qwestly_agent.platform.collection import (
    ALL_ACTIONS,
    Document,
    Due,
    Expires,
    MongoCollection,
    Permanent,
    Schedule,
    Store,
    across_users,
    index,
)
from qwestly_agent.stores import collections
from qwestly_agent.stores.approvals import COLLECTION as APPROVALS
from qwestly_agent.stores.conversations import COLLECTION as CONVERSATIONS
from qwestly_agent.stores.drafts import COLLECTION as DRAFTS
from qwestly_agent.stores.drafts import draft_id_of, pipeline_id_of
from qwestly_agent.stores.user_settings import COLLECTION as SETTINGS

# --- runs -------------------------------------------------------------------------------------------------------------
# `agent_runs`: work that runs outside of turns, and work stopped by the brake.


RETENTION = timedelta(days=1)
"""How long a run is kept; its name stays in the receipt for good."""
LONGEST_RUN_SECONDS = 330.0
"""Longer than any workflow state may take. A run whose process died counts as running for this long."""
UNKNOWN_KEPT = timedelta(hours=48)
"""How long an effect with an unknown outcome is kept, which is as long as the candidate app keeps idempotency keys."""
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
"""`_id`, `user_id`, `name` (as in receipts), `until`, `stopped_at`, `begun_at`, `is_sending`, `expires_at`. Records
workflow states, mails and documents that are in progress, and work stopped by the brake."""


class Runs(Store):
    async def begin(self, user_id: str, name: str, now: float, seconds: float = LONGEST_RUN_SECONDS) -> str:
        """Record that the named work has started; it counts as running for `seconds`. Returns the key for `end`."""
        # The driver's own ids would continue from the snapshot's counter, identically in each copy of the snapshot.
        key = uuid4().hex
        run = {"user_id": user_id, "name": name, "until": now + seconds, "expires_at": to_datetime(now) + RETENTION}
        await self.database[COLLECTION].insert_one({"_id": key, **run})
        return key

    async def end(self, user_id: str, key: str) -> bool:
        """Delete the record of a run that was not stopped. Returns False if there is none any more."""
        deleted = await self.database[COLLECTION].delete_one({"_id": key, "user_id": user_id})
        return deleted.deleted_count == 1

    async def end_stopped_by_brake(self, user_id: str, key: str, now: float) -> None:
        """Record that the brake stopped this run."""
        change = {"until": 0.0, "stopped_at": now}
        await self.database[COLLECTION].update_one({"_id": key, "user_id": user_id}, {"$set": change})

    async def record_stopped(self, user_id: str, name: str, now: float) -> None:
        """Record that the brake stopped work before it started."""
        await self.end_stopped_by_brake(user_id, await self.begin(user_id, name, now), now)

    async def begin_effect(self, user_id: str, name: str, now: float) -> float | None:
        """Record that the named effect is being sent or queried. Returns the time of an earlier attempt whose outcome
        is unknown, or None."""
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
        """Record that nothing waits for this effect any more and that its outcome is unknown."""
        await self.database[COLLECTION].update_one(_effect(user_id, name), {"$set": {"is_sending": False}})


def _effect(user_id: str, name: str) -> Document:
    return {"_id": f"{user_id}:{name}", "user_id": user_id}


# --- sweeps -----------------------------------------------------------------------------------------------------------
# Queries across several collections, for sweeps and the brake; all other queries are in the store of their collection.
#
# `agent_sweeps` stores where a sweep ended, so that the next one continues from there: an item that always fails does
# not block those after it.


SWEEPS = MongoCollection(
    "agent_sweeps",
    Permanent("One document per sweep."),
    no_user_reason="The position of each sweep, and the number of mails sent.",
)
"""`_id` (`approvals`, `consolidate`, `jobs`), `position` (where the last run ended; for `consolidate` a user's id,
which is cleared when that user is erased)."""

SweepName = Literal["approvals", "consolidate", "events out", "jobs"]


@dataclass(frozen=True)
class RunningWork:
    """Names of running work: turns by run id, cards and other workflows by names such as `card-…`, effects by approval
    id, and effects without an approval by `document-…` or `mail-…`."""

    running: frozenset[str] = frozenset()
    executing: frozenset[str] = frozenset()
    """Effects in progress."""
    unknown: frozenset[str] = frozenset()
    """Effects that were sent but whose outcome is unknown."""


class Sweeps(Store):
    @across_users
    async def running_work(self, whose: str, now: float) -> RunningWork:
        """Return the running work of this user, or of `EVERYBODY`."""
        of = {} if whose == EVERYBODY else {"user_id": whose}
        # First: the turn of a conversation that is being deleted is found either by its lease now or among the others
        # later.
        turns = await self._each(CONVERSATIONS, {**of, "lease_until": {"$gt": now}}, "holder")
        cards, effects, others = await asyncio.gather(
            self._each(DRAFTS, {**of, "status": "running"}, "_id"),
            self._each(APPROVALS, {**of, "status": {"$in": ["executing", *SENT]}}, "_id", "status"),
            self._each(COLLECTION, {**of, "until": {"$gt": now}}, "name", "begun_at", "is_sending"),
        )
        sent = [each for each in others if "begun_at" in each]
        sending = {each["name"] for each in sent if each["is_sending"] and now < each["begun_at"] + LONGEST_RUN_SECONDS}
        running = {each["holder"] for each in turns if each.get("holder")}
        running |= {pipeline_id_of(each["_id"]) for each in cards}
        running |= {each["name"] for each in others if "begun_at" not in each}
        executing = {each["_id"] for each in effects if each["status"] == "executing"}
        unknown = {each["_id"] for each in effects if each["status"] in SENT} | {
            each["name"] for each in sent
        } - sending
        return RunningWork(frozenset(running), frozenset(executing | sending), frozenset(unknown))

    @across_users
    async def stopped_work(self, whose: str, over: Collection[str], since: float) -> set[str]:
        """Return the names of work that the brake stopped, for this user or for `EVERYBODY`: cards named in `over`, and
        turns and other work stopped after `since`."""
        of = {} if whose == EVERYBODY else {"user_id": whose}
        cards = {draft_id_of(name): name for name in over}
        stopped, others = await asyncio.gather(
            self._each(DRAFTS, {**of, "_id": {"$in": [*cards]}, "status": "stopped"}, "_id") if over else _none(),
            self._each(COLLECTION, {**of, "stopped_at": {"$gte": since}}, "name"),
        )
        return {
            *(cards[each["_id"]] for each in stopped),
            *(each["name"] for each in others),
        }

    async def planned_briefing(self, user_id: str) -> str | None:
        """Return the name of the user's scheduled briefing; None if briefings are off."""
        query = {"_id": user_id, "user_id": user_id, "briefing_at": {"$gt": 0}}
        found = await self.database[SETTINGS].find_one(query, {"briefing_day": 1})
        return run_of(user_id, found["briefing_day"]) if found and found.get("briefing_day") else None

    @across_users  # `gather` calls the query without the caller's frame
    async def _each(self, collection: str, query: Document, *fields: str) -> list[Document]:
        return await self.database[collection].find(query, dict.fromkeys(fields, 1)).to_list()

    async def position(self, sweep: SweepName) -> Any:
        """Return where the last run of this sweep ended; None if it reached the end."""
        found = await self.database[SWEEPS].find_one({"_id": sweep})
        return found["position"] if found else None

    async def save_position(self, sweep: SweepName, position: float | str | None) -> None:
        await self.database[SWEEPS].update_one({"_id": sweep}, {"$set": {"position": position}}, upsert=True)

    async def next_due(
        self, sweep: SweepName, schedule: Schedule, now: float, limit: int, braked: Collection[str] = ()
    ) -> list[Due]:
        """Return the items that are due, continuing where the last run ended and wrapping around at the end, so that
        repeated failures do not block others."""
        after = await self.position(sweep) or 0.0
        due = await schedule.list_due(after, now, limit, braked)
        if after and len(due) < limit:
            due += await schedule.list_due(0.0, min(after, now), limit - len(due), braked)
        await self.save_position(sweep, due[-1].due_at if len(due) == limit else None)
        return due

    async def clear_position_at(self, user_id: str) -> None:
        """Clear the position of the consolidation if it ended at this user; the next one starts from the beginning."""
        at_user = {"_id": "consolidate", "position": user_id}
        await self.database[SWEEPS].update_one(at_user, {"$set": {"position": None}})

    @across_users
    async def list_uncopied(self, limit: int) -> list[tuple[str, str, str]]:
        """List `(collection, user_id, id)` of documents with events that are not yet in the feed, up to `limit` per
        collection."""
        found = list[tuple[str, str, str]]()
        for name in [each for each in collections() if each.has_outbox]:
            left = self.database[name].find({"uncopied_since": {"$gt": 0}}, {"user_id": 1}).sort("uncopied_since", 1)
            found += [(name, each["user_id"], each["_id"]) async for each in left.limit(limit)]
        return found


async def _none() -> list[Document]:
    return []
