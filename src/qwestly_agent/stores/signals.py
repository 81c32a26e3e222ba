"""`agent_signals`: stop and brake signals, one document per user and one for `EVERYBODY`.

Fields are flat and each is set by one update, because the brake is written before anything is read.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.errors import Braked
from qwestly_agent.domain.activity import ActivityEvent, Severity
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.stores.activity import OUTBOX, copy_after_write, with_events
from qwestly_agent.stores.collection import MongoCollection, Permanent, index
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.store import Store

COLLECTION = MongoCollection(
    "agent_signals",
    Permanent("One document per user: the brake stays on until it is released."),
    # A document has no `brake_since` while its brake is off.
    index("brake_since", "brake_since"),
    holds="the brake, stopped runs",
    has_outbox=True,
    reader="find",
    opener="find",
)
"""`_id` and `user_id` (or `everybody`), `stopped_runs` (the last 50), `brake_since`, `released_at`, `receipt` and
`receipt_since` (of the last brake)."""
STOPS_KEPT = 50
"""More than a user can have running; older ones are no longer needed."""


@dataclass(frozen=True)
class Signal:
    """The signals of a user, or of `EVERYBODY`. Times are in seconds since the epoch."""

    stopped_runs: frozenset[str] = frozenset()
    brake_since: float | None = None
    """None if the brake is off."""
    released_at: float | None = None
    """When the brake was last turned off."""
    receipt: Mapping[str, Any] | None = None
    """The receipt of the current or last brake."""
    receipt_since: float | None = None
    """`brake_since` of the brake that the receipt belongs to."""


class Signals(Store):
    async def stop(self, user_id: str, run_id: str) -> None:
        await self._update(
            user_id, {"$push": {"stopped_runs": {"$each": [run_id], "$slice": -STOPS_KEPT}}}, upsert=True
        )

    async def read(self, user_id: str) -> tuple[Signal, Signal]:
        """Read the signals of this user and of `EVERYBODY` with one query."""
        both = {"$in": [user_id, EVERYBODY]}
        found = {each["_id"]: each async for each in self.database[COLLECTION].find({"_id": both, "user_id": both})}
        return _signal(found.get(user_id, {})), _signal(found.get(EVERYBODY, {}))

    async def list_stopped(self, user_id: str, run_ids: Collection[str]) -> set[str]:
        """Return those of these runs that the user stopped. Raises `Braked` if the brake of the user or of `EVERYBODY`
        is on."""
        own, everybody = await self.read(user_id)
        if own.brake_since or everybody.brake_since:
            raise Braked
        return set(run_ids) & own.stopped_runs

    async def check_brake(self, user_id: str) -> None:
        """Raise `Braked` if the brake of this user or of `EVERYBODY` is on."""
        await self.list_stopped(user_id, ())

    async def is_braked(self, user_id: str) -> bool:
        """True if the brake of this user, or of `EVERYBODY`, is on."""
        own, everybody = await self.read(user_id)
        return bool(own.brake_since or everybody.brake_since)

    async def turn_brake_on(self, user_id: str, now: float) -> None:
        """Turn the brake on without reading anything first (idempotent: `brake_since` keeps the first time)."""
        # Rounded to milliseconds: receipts compare it, and the laptop's database keeps only fifteen digits.
        since = round(now, 3)
        off = {"_id": user_id, "user_id": user_id, "brake_since": None}
        with suppress(DuplicateKeyError):  # it is on already
            await self._turn(off, {"$set": {"brake_since": since}}, _event(user_id, "on", since), upsert=True)

    async def turn_brake_off(self, user_id: str, now: float) -> None:
        """Turn the brake off; its receipt is kept."""
        on = {"_id": user_id, "user_id": user_id, "brake_since": {"$gt": 0}}
        change = {"$unset": {"brake_since": ""}, "$set": {"released_at": now}}
        await self._turn(on, change, _event(user_id, "off", now))

    async def save_receipt(self, user_id: str, since: float, receipt: Mapping[str, Any]) -> None:
        """Store a receipt for the current brake, or for the last one if its receipt has the same `since`."""
        here, change = {"_id": user_id, "user_id": user_id}, {"receipt": dict(receipt), "receipt_since": since}
        # `$or` cannot be used: with it the laptop's database finds another user's document.
        kept = await self.database[COLLECTION].update_one({**here, "brake_since": since}, {"$set": change})
        if not kept.matched_count:
            await self.database[COLLECTION].update_one({**here, "receipt_since": since}, {"$set": change})

    async def _turn(self, where: Document, change: Document, event: ActivityEvent, *, upsert: bool = False) -> None:
        turned = await self.database[COLLECTION].find_one_and_update(
            where, with_events(change, event), OUTBOX, upsert=upsert, return_document=ReturnDocument.AFTER
        )
        if turned:  # the laptop's database returns nothing in place of a duplicate key error
            await copy_after_write(self.database, COLLECTION, event.user_id, event.user_id, turned)

    async def _update(self, user_id: str, change: Document, *, upsert: bool = False) -> None:
        await self.database[COLLECTION].update_one({"_id": user_id, "user_id": user_id}, change, upsert=upsert)


def _event(whose: str, state: Literal["on", "off"], at: float) -> ActivityEvent:
    sentence, severity = _SENTENCES[state, whose == EVERYBODY]
    return ActivityEvent(
        id=f"brake:{whose}:{state}:{at!r}",
        user_id=whose,
        at=at,
        type=f"brake.{state}",
        role="operators" if whose == EVERYBODY else "user",
        severity=severity,
        title=sentence,
    )


_SENTENCES: Mapping[tuple[str, bool], tuple[str, Severity]] = {
    ("on", False): ("You paused your agent", "info"),
    ("off", False): ("You resumed your agent", "info"),
    ("on", True): ("Qwestly paused its agent for everybody", "warning"),
    ("off", True): ("Qwestly resumed its agent for everybody", "info"),
}


def _signal(document: Document) -> Signal:
    return Signal(
        stopped_runs=frozenset(document.get("stopped_runs", ())),
        brake_since=document.get("brake_since"),
        released_at=document.get("released_at"),
        receipt=document.get("receipt"),
        receipt_since=document.get("receipt_since"),
    )
