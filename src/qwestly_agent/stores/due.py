"""Queries across all users, for sweeps and the brake. They return ids only; further reads go through the stores, with a
user id.

Each query uses an index, as `tests/stores/test_due.py` checks. `agent_sweeps` stores where a sweep ended, so that the
next one continues there: an item that always fails does not block those behind it.
"""

import asyncio
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.approval import EVERYBODY, SENT
from qwestly_agent.domain.briefing import run_of
from qwestly_agent.platform.collection import Document, MongoCollection, Permanent, Store
from qwestly_agent.stores import (
    activity,
    approvals,
    briefings,
    collections,
    drafts,
    jobs,
    measures,
    memories,
    runs,
    usage,
    user_settings,
)
from qwestly_agent.stores.conversations import COLLECTION as CONVERSATIONS
from qwestly_agent.stores.messages import COLLECTION as MESSAGES
from qwestly_agent.stores.user_settings import MailKind

COLLECTION = MongoCollection(
    "agent_sweeps",
    Permanent("One document per sweep."),
    no_user_reason="The position of each sweep, and the number of mails sent.",
)
"""`_id` (`approvals`, `consolidate`, `jobs`), `position` (where the last run ended; of `consolidate` a user's id, which
is cleared when that user is erased)."""
MEMORIES_AT_A_TIME = 1_000

SweepName = Literal["approvals", "consolidate", "events out", "jobs"]


@dataclass(frozen=True)
class Backlog:
    """Records that are due."""

    count: int
    due_since: float | None
    """When the oldest became due, in seconds since the epoch; None if there are none."""


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
    async def running_work(self, whose: str, now: float) -> RunningWork:
        """Return the running work of this user, or of `EVERYBODY`."""
        of = {} if whose == EVERYBODY else {"user_id": whose}
        turns, cards, effects, others = await asyncio.gather(
            self._each(CONVERSATIONS, {**of, "lease_until": {"$gt": now}}, "holder"),
            self._each(drafts.COLLECTION, {**of, "status": "running"}, "_id"),
            self._each(approvals.COLLECTION, {**of, "status": {"$in": ["executing", *SENT]}}, "_id", "status"),
            self._each(runs.COLLECTION, {**of, "until": {"$gt": now}}, "name", "begun_at", "is_sending"),
        )
        sent = [each for each in others if "begun_at" in each]
        sending = {
            each["name"] for each in sent if each["is_sending"] and now < each["begun_at"] + runs.LONGEST_RUN_SECONDS
        }
        return RunningWork(
            running=frozenset(
                [
                    *(each["holder"] for each in turns if each.get("holder")),
                    *(drafts.pipeline_id_of(each["_id"]) for each in cards),
                    *(each["name"] for each in others if "begun_at" not in each),
                ]
            ),
            executing=frozenset(sending).union(each["_id"] for each in effects if each["status"] == "executing"),
            unknown=frozenset(
                [
                    *(each["_id"] for each in effects if each["status"] in SENT),
                    *(each["name"] for each in sent if each["name"] not in sending),
                ]
            ),
        )

    async def stopped_work(self, whose: str, over: Collection[str], since: float) -> set[str]:
        """Return the names of work of this user, or of `EVERYBODY`, that the brake stopped: turns and cards named in
        `over`, and other work stopped after `since`."""
        of = {} if whose == EVERYBODY else {"user_id": whose}
        answers = [f"{name}:assistant" for name in over]
        cards = {drafts.draft_id_of(name): name for name in over}
        turns, stopped, others = await asyncio.gather(
            self._each(MESSAGES, {**of, "_id": {"$in": answers}}, "run_id", "error") if over else _none(),
            self._each(drafts.COLLECTION, {**of, "_id": {"$in": [*cards]}, "status": "stopped"}, "_id")
            if over
            else _none(),
            self._each(runs.COLLECTION, {**of, "stopped_at": {"$gte": since}}, "name"),
        )
        return {
            *(each["run_id"] for each in turns if (each.get("error") or {}).get("code") == "braked"),
            *(cards[each["_id"]] for each in stopped),
            *(each["name"] for each in others),
        }

    async def planned_briefing(self, user_id: str) -> str | None:
        """Return the name of the user's scheduled briefing; None if briefings are off."""
        query = {"_id": user_id, "user_id": user_id, "briefing_at": {"$gt": 0}}
        found = await self.database[user_settings.COLLECTION].find_one(query, {"briefing_day": 1})
        return run_of(user_id, found["briefing_day"]) if found and found.get("briefing_day") else None

    async def braked_users(self) -> list[str]:
        """Return the ids of users whose brake is on, including `EVERYBODY` if that brake is on."""
        return [each["_id"] for each in await self._each(user_settings.SIGNALS, {"brake_since": {"$gt": 0}}, "_id")]

    async def _each(self, collection: str, query: Document, *fields: str) -> list[Document]:
        return await self.database[collection].find(query, dict.fromkeys(fields, 1)).to_list()

    async def position(self, sweep: SweepName) -> Any:
        """Return where the last run of this sweep ended; None if it reached the end."""
        found = await self.database[COLLECTION].find_one({"_id": sweep})
        return found["position"] if found else None

    async def save_position(self, sweep: SweepName, position: float | str | None) -> None:
        await self.database[COLLECTION].update_one({"_id": sweep}, {"$set": {"position": position}}, upsert=True)

    async def clear_position_at(self, user_id: str) -> None:
        """Clear the position of the consolidation if it ended at this user: the next starts with the first."""
        at_user = {"_id": "consolidate", "position": user_id}
        await self.database[COLLECTION].update_one(at_user, {"$set": {"position": None}})

    async def due_approvals(self, after: float, until: float, limit: int) -> list[tuple[str, str, float]]:
        """List `(user_id, approval_id, due_at)` of approvals that became due in this interval, most overdue first."""
        found = self.database[approvals.COLLECTION].find(_due("due_at", after, until), {"user_id": 1, "due_at": 1})
        return [(each["user_id"], each["_id"], each["due_at"]) async for each in found.sort("due_at", 1).limit(limit)]

    async def list_uncopied(self, limit: int) -> list[tuple[str, str, str]]:
        """List `(collection, user_id, id)` of documents with events that are not yet in the feed, up to `limit` per
        collection."""
        found = list[tuple[str, str, str]]()
        for name in [each for each in collections() if each.has_outbox]:
            left = self.database[name].find({"uncopied_since": {"$gt": 0}}, {"user_id": 1}).sort("uncopied_since", 1)
            found += [(name, each["user_id"], each["_id"]) async for each in left.limit(limit)]
        return found

    async def approvals_left(self, now: float) -> Backlog:
        return await self._backlog(approvals.COLLECTION, _due("due_at", 0, now), "due_at")

    async def conversations_left(self, now: float) -> Backlog:
        return await self._backlog(CONVERSATIONS, _silent(now), "extract_at")

    async def memories_left(self) -> Backlog:
        """Count active memories that have not been compared with the others."""
        return await self._backlog(memories.COLLECTION, dict(_NEW), "created")

    async def oldest_pending_approval(self) -> float | None:
        """Return when the oldest pending approval was created, in seconds since the epoch; None if there is none."""
        return await self._least(approvals.COLLECTION, {"status": "pending"}, "created_at")

    async def silent_conversations(self, now: float, limit: int, braked: Collection[str] = ()) -> list[tuple[str, str]]:
        """List `(user_id, conversation_id)` of conversations due for memory extraction, longest due first. Those of
        `braked` users stay due. The sweep needs no position, because a picked conversation is not due again until
        later."""
        query = {**_silent(now), "user_id": {"$nin": list(braked)}} if braked else _silent(now)
        found = self.database[CONVERSATIONS].find(query, {"user_id": 1, "id": 1})
        return [(each["user_id"], each["id"]) async for each in found.sort("extract_at", 1).limit(limit)]

    async def list_quarantined(self, limit: int) -> list[tuple[str, str, dict[str, Any]]]:
        """List `(user_id, conversation_id, reason)` of quarantined conversations; the reason includes the time."""
        query = {"extract_set_aside.at": {"$gt": 0}}
        found = self.database[CONVERSATIONS].find(query, {"user_id": 1, "id": 1, "extract_set_aside": 1})
        return [(each["user_id"], each["id"], each["extract_set_aside"]) async for each in found.limit(limit)]

    async def users_to_consolidate(self, after: str, limit: int, until: str | None = None) -> list[str]:
        """List user ids above `after` (and up to `until`), ascending, with memories that are not consolidated yet."""
        users, upper = list[str](), {} if until is None else {"$lte": until}
        while len(users) < limit:
            ids = {"$gt": users[-1] if users else after, **upper}
            found = self.database[memories.COLLECTION].find({**_NEW, "user_id": ids}, {"_id": 0, "user_id": 1})
            page = await found.sort("user_id", 1).limit(MEMORIES_AT_A_TIME).to_list()
            users += dict.fromkeys(each["user_id"] for each in page)
            if len(page) < MEMORIES_AT_A_TIME:
                break
        return users[:limit]

    async def users_without_words(self) -> list[str]:
        """List ids of users with memories whose stems are not stored."""
        query = {"content": {"$exists": True}, "words": {"$exists": False}}
        found = self.database[memories.COLLECTION].find(query, {"_id": 0, "user_id": 1})
        return list({each["user_id"]: None async for each in found})

    async def due_briefings(self, now: float, limit: int) -> list[str]:
        """List ids of users whose briefing is due, longest due first."""
        found = self.database[user_settings.COLLECTION].find(_due("briefing_at", 0, now), {"user_id": 1})
        return [each["user_id"] async for each in found.sort("briefing_at", 1).limit(limit)]

    async def briefings_left(self, now: float) -> Backlog:
        return await self._backlog(user_settings.COLLECTION, _due("briefing_at", 0, now), "briefing_at")

    async def due_job_searches(
        self, after: float, until: float, limit: int, braked: Collection[str] = ()
    ) -> list[tuple[str, float]]:
        """List `(user_id, next_at)` of users whose nightly search became due between these times, longest due first.
        Those of `braked` users stay due."""
        found = self.database[jobs.JOB_SEARCHES].find(_searches(after, until, braked), {"user_id": 1, "next_at": 1})
        return [(each["user_id"], each["next_at"]) async for each in found.sort("next_at", 1).limit(limit)]

    async def job_searches_left(self, now: float, braked: Collection[str] = ()) -> Backlog:
        return await self._backlog(jobs.JOB_SEARCHES, _searches(0, now, braked), "next_at")

    async def variant_sums(self, tags: Collection[str]) -> dict[str, dict[str, float]]:
        """Return the counts of all users under each of these tags, and the number of users."""
        sums = {name: {"$sum": f"${name}"} for name in measures.NAMES}
        pipeline = [{"$match": {"tag": {"$in": list(tags)}}}, {"$group": {"_id": "$tag", "users": {"$sum": 1}, **sums}}]
        found = await self.database[measures.VARIANT_COUNTS].aggregate(pipeline)
        # The laptop's database returns nothing if no document has the field.
        return {each.pop("_id"): {name: value or 0 for name, value in each.items()} async for each in found}

    async def variant_users(self, tag: str) -> list[dict[str, float]]:
        """Return the counts of each user under this tag, including decisions on the variant's proposals."""
        of_user = dict[str, Counter[str]]()
        async for each in self.database[measures.VARIANT_COUNTS].find({"tag": tag}, {"runs": 0}):
            of_user[each["user_id"]] = Counter({name: each.get(name, 0) for name in measures.NAMES})
        for each in await self._each(approvals.COLLECTION, {"variant": tag}, "user_id", *approvals.COUNTED_FIELDS):
            if each["user_id"] in of_user:
                of_user[each["user_id"]].update(approvals.counts_of(each))
        return [dict(each) for each in of_user.values()]

    async def conversations_by_variant(self) -> dict[str, int]:
        """Return the number of conversations of each variant, excluding those that fell back to the base."""
        query = {"assignment.variant": {"$gt": ""}, "assignment.given_up": False}
        pipeline = [{"$match": query}, {"$group": {"_id": "$assignment.variant", "count": {"$sum": 1}}}]
        found = await self.database[CONVERSATIONS].aggregate(pipeline)
        return {each["_id"]: each["count"] async for each in found}

    async def pinned_users(self) -> int:
        """Return the number of users whom an operator pinned to a variant."""
        return await self.database[user_settings.COLLECTION].count_documents({"variant": {"$gt": ""}})

    async def spent_today(self, now: float) -> float:
        """Return today's cost (UTC) of all users together, in US dollars."""
        midnight = to_datetime(now).replace(hour=0, minute=0, second=0, microsecond=0)
        # A user's document expires a fixed time after the last spending, so the index finds exactly those who spent
        # today.
        match = {"expires_at": {"$gte": midnight + timedelta(days=usage.DAYS_KEPT)}}
        total = {"_id": None, "cost_usd": {"$sum": f"$days.{usage.day_of(now)}.cost_usd"}}
        found = await self.database[usage.COLLECTION].aggregate([{"$match": match}, {"$group": total}])
        return sum([float(each["cost_usd"] or 0.0) async for each in found])

    async def due_applications(self, now: float, limit: int) -> list[tuple[str, str]]:
        """List `(user_id, application_id)` of applications whose next step is due, longest due first."""
        found = self.database[jobs.APPLICATIONS].find(_due("due_at", 0, now), {"user_id": 1})
        return [(each["user_id"], each["_id"]) async for each in found.sort("due_at", 1).limit(limit)]

    async def steps_left(self, now: float) -> Backlog:
        """Count applications whose next step is due and was not reminded of."""
        return await self._backlog(jobs.APPLICATIONS, _due("due_at", 0, now), "due_at")

    async def count_mail(self, day: str, most: int) -> bool:
        """Count one briefing mail for this day (UTC). Returns False if the limit is reached."""
        mails, name = self.database[COLLECTION], f"briefing mails {day}"
        await mails.update_one({"_id": name}, {"$setOnInsert": {"position": 0}}, upsert=True)
        counted = await mails.update_one({"_id": name, "position": {"$lt": most}}, {"$inc": {"position": 1}})
        return bool(counted.matched_count)

    async def list_copied(self, moment: datetime, until: datetime, limit: int) -> list[activity.CopiedEvent]:
        """List events copied into the feed after `moment` and up to `until`, in the order of copying."""
        query = {"copied_at": {"$gt": moment, "$lte": until}}
        found = self.database[activity.COLLECTION].find(query).sort("copied_at", 1).limit(limit)
        return [activity.CopiedEvent(activity.event_of(each), each["copied_at"]) async for each in found]

    async def find_mail_by_token(self, hashed: str) -> tuple[str, MailKind] | None:
        """Return the recipient and kind of the mail whose token has this hash."""
        found = await self.database[briefings.BRIEFINGS].find_one({"unsubscribe": hashed}, {"user_id": 1})
        if found:
            return found["user_id"], "briefings"
        kinds: tuple[MailKind, ...] = ("questions", "reminders")
        for kind in kinds:
            if ours := await self.find_approval_by_link(f"{kind}:{hashed}"):
                return ours[0], kind
        return None

    async def find_approval_by_link(self, hashed: str) -> tuple[str, str] | None:
        """Return `(user_id, approval_id)` for the link with this hash."""
        # With `$in`, because the laptop's database does not match an item of an indexed array by equality.
        found = await self.database[approvals.COLLECTION].find_one({"links": {"$in": [hashed]}}, {"user_id": 1})
        return (found["user_id"], found["_id"]) if found else None

    async def _backlog(self, collection: str, query: Document, since: str) -> Backlog:
        count = await self.database[collection].count_documents(query)
        return Backlog(count, await self._least(collection, query, since) if count else None)

    async def _least(self, collection: str, query: Document, field: str) -> float | None:
        found = await self.database[collection].find(query, {field: 1}).sort(field, 1).limit(1).to_list()
        return next((each[field] for each in found), None)


_NEW: Document = {"consolidated": False, "status": memories.ACTIVE}


def _due(field: str, after: float, until: float) -> Document:
    return {field: {"$gt": after, "$lte": until}}


def _searches(after: float, until: float, braked: Collection[str]) -> Document:
    return {**_due("next_at", after, until), **({"user_id": {"$nin": list(braked)}} if braked else {})}


def _silent(now: float) -> Document:
    return {**_due("extract_at", 0, now), "lease_until": {"$lte": now}}


async def _none() -> list[Document]:
    return []
