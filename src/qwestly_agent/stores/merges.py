"""Consolidation in `user_memories`: compare, merge and supersede pairs of memories, and undo that."""

from array import array
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson.binary import BinaryVectorDtype
from pymongo.errors import DuplicateKeyError

from qwestly_agent.domain.memory import salience
from qwestly_agent.platform.collection import Document, Store
from qwestly_agent.stores.memories import (
    ACTIVE,
    COLLECTION,
    MERGED,
    MOST_MESSAGE_IDS,
    SUPERSEDED,
    WITHOUT_VECTORS,
    created_of,
    memories_of,
)

MOST_ABSORBED = 200
"""Maximum number of merged memories' ids stored per memory, so that none counts twice."""
HELD_AT_ONCE = 1_000


@dataclass(frozen=True)
class ComparedMemory:
    """The fields of an active memory that consolidation compares. Numeric times are in seconds since the epoch."""

    id: str
    content: str
    trust: str
    count: int
    created: float
    said: float
    """When it was last stated."""
    importance: float
    valid_from: datetime | None
    valid_until: datetime | None
    new: bool
    """True if it was not compared with the others yet."""
    sensitive: bool = False
    asked: float | None = None
    """When the user was last asked whether it is still true."""


class Merges(Store):
    async def iterate_compared(self, user_id: str) -> AsyncIterator[tuple[ComparedMemory, bytes]]:
        """Yield all active memories in one pass, each with its vector as float32 bytes, empty if it has none."""
        query = {"user_id": user_id, "status": ACTIVE}
        async for document in self.database[COLLECTION].find(query, _COMPARED).batch_size(HELD_AT_ONCE):
            for memory in memories_of([document]):
                created = created_of(document)
                held = ComparedMemory(
                    id=memory.id,
                    content=memory.content,
                    trust=memory.trust,
                    count=memory.count,
                    created=created,
                    said=memory.last_seen or created,
                    importance=memory.importance,
                    valid_from=memory.valid_from,
                    valid_until=memory.valid_until,
                    new=not document.get("consolidated", True),
                    sensitive=memory.sensitive,
                    asked=document.get("asked_at"),
                )
                yield held, _float32(document.get("content_embedding"))

    async def is_current(self, user_id: str, memory_id: str, run_id: str) -> bool:
        """True if the memory is active or merged into an active one. A memory superseded by this run counts as
        active."""
        passed = set[str]()
        while memory_id not in passed:
            passed.add(memory_id)
            found = await self.database[COLLECTION].find_one(
                {"_id": memory_id, "user_id": user_id}, {"status": 1, "superseded_by": 1, "replaced_in": 1}
            )
            status = found["status"] if found else None
            if status == ACTIVE or (found and status == SUPERSEDED and found.get("replaced_in") == run_id):
                return True
            if not found or status != MERGED:
                return False
            memory_id = found["superseded_by"]
        return False

    async def replace(self, user_id: str, gone_id: str, by_id: str, status: str, run_id: str, now: float) -> None:
        """Set an active memory to `status` (merged or superseded), replaced by `by_id`. Its text is kept."""
        changes = {
            "status": status,
            "superseded_by": by_id,
            "superseded_at": now,
            "withdrawn_at": now,
            "key": gone_id,
            "replaced_in": run_id,
        }
        await self._set(user_id, {"_id": gone_id, "status": ACTIVE}, changes)

    async def absorb(self, user_id: str, by_id: str, gone_id: str) -> None:
        """Add the count of a merged memory to this one, once. Importance and the time last stated become the greater of
        both; the memory's own values are kept in `own`."""
        ids = {"$in": [by_id, gone_id]}
        found = self.database[COLLECTION].find({"user_id": user_id, "_id": ids}, WITHOUT_VECTORS)
        both = {document["_id"]: document async for document in found}
        by, gone = both.get(by_id), both.get(gone_id)
        if by is None or gone is None or (gone["status"], gone.get("superseded_by")) != (MERGED, by_id):
            return
        importance = gone.get("importance", 0.5)
        own = {} if by.get("took_in") else {"own": {name: by[name] for name in _RAISED if name in by}}
        flags = {"about_writing": True} if gone.get("about_writing") else {}
        await self.database[COLLECTION].update_one(
            {"_id": by_id, "user_id": user_id, "status": ACTIVE, "took_in": {"$nin": [gone_id]}},
            {
                "$inc": {"count": gone.get("count", 1)},
                # Of two memories of the same age, the more important one has the higher salience.
                "$max": {
                    "last_seen": gone.get("last_seen", 0.0),
                    "importance": importance,
                    "salience": salience(importance, created_of(by)),
                },
                "$set": {**own, **flags, f"took.{gone_id}": gone.get("count", 1)},
                "$push": {
                    "took_in": {"$each": [gone_id], "$slice": -MOST_ABSORBED},
                    # Put before its own ids, so that its own are dropped last.
                    "seen": {"$each": list(gone.get("seen", ())), "$position": 0, "$slice": -MOST_MESSAGE_IDS},
                },
            },
        )

    async def undo_replacement(self, user_id: str, gone_id: str, by_id: str, run_id: str) -> bool:
        """Undo a replacement made by this run. Returns False if that replacement no longer exists, or if an equal
        memory was added since; the memory is then merged into that one."""
        query = {"_id": gone_id, "user_id": user_id, "status": {"$in": [MERGED, SUPERSEDED]}}
        query |= {"superseded_by": by_id, "replaced_in": run_id}
        found = await self.database[COLLECTION].find_one(query, WITHOUT_VECTORS)
        if found is None:
            return False
        await self._give_back(user_id, by_id, found)  # first, so that it is repeated if the process dies in between
        key = {"key": found["hash"]} if "hash" in found else {}
        gone = ["superseded_by", "superseded_at", "withdrawn_at", "replaced_in", *({"key"} - key.keys())]
        change = {"$set": {"status": ACTIVE, **key}, "$unset": dict.fromkeys(gone, "")}
        try:
            return (await self.database[COLLECTION].update_one(query, change)).matched_count == 1
        except DuplicateKeyError:
            same = await self.database[COLLECTION].find_one({"user_id": user_id, **key}, {"_id": 1})
            if same:
                await self._set(user_id, query, {"status": MERGED, "superseded_by": same["_id"]})
            return False

    async def _give_back(self, user_id: str, by_id: str, gone: Document) -> None:
        """Subtract, once, what this memory took over from a merged one. Its own later increases are kept."""
        took_in = {"_id": by_id, "user_id": user_id, "took_in": gone["_id"]}
        by = await self.database[COLLECTION].find_one(took_in, WITHOUT_VECTORS)
        if by is None:
            return
        left, seen = [each for each in by["took_in"] if each != gone["_id"]], list(by.get("seen", ()))
        for each in gone.get("seen", ()):
            if each in seen:
                seen.remove(each)
        rest = self.database[COLLECTION].find({"_id": {"$in": left}, "user_id": user_id}, dict.fromkeys(_RAISED, 1))
        held = [by.get("own", {name: by[name] for name in _RAISED if name in by}), *await rest.to_list()]
        back = {name: max(each.get(name, 0.0) for each in held) for name in ("importance", "last_seen")}
        if by.get("last_seen", 0.0) > max(back["last_seen"], gone.get("last_seen", 0.0)):
            back["last_seen"] = by["last_seen"]
        changes = {
            **back,
            "salience": salience(back["importance"], created_of(by)),
            "about_writing": any(each.get("about_writing", False) for each in held),
            "seen": seen,
            "took_in": left,
        }
        count = by.get("took", {}).get(gone["_id"], gone.get("count", 1))
        change = {"$set": changes, "$inc": {"count": -count}, "$unset": {f"took.{gone['_id']}": ""}}
        await self.database[COLLECTION].update_one(took_in, change)
        while by and by["status"] == MERGED:  # the memory it was merged into has these messages from it alone
            above = {"_id": by["superseded_by"], "user_id": user_id}
            by = await self.database[COLLECTION].find_one(above, {"status": 1, "superseded_by": 1, "seen": 1})
            if by:
                seen = [each for each in by.get("seen", ()) if each not in gone.get("seen", ())]
                await self.database[COLLECTION].update_one(above, {"$set": {"seen": seen}})

    async def mark_compared(self, user_id: str, memory_ids: Sequence[str]) -> None:
        """Mark these memories as compared."""
        await self._set_each(user_id, memory_ids, {"consolidated": True})

    async def mark_asked(self, user_id: str, memory_ids: Sequence[str], now: float) -> None:
        """Record that the user was asked whether these memories are still true."""
        await self._set_each(user_id, memory_ids, {"asked_at": now})

    async def _set(self, user_id: str, query: Document, changes: Document) -> int:
        changed = await self.database[COLLECTION].update_one({**query, "user_id": user_id}, {"$set": changes})
        return changed.matched_count

    async def _set_each(self, user_id: str, memory_ids: Sequence[str], changes: Document) -> None:
        for at in range(0, len(memory_ids), HELD_AT_ONCE):
            query = {"user_id": user_id, "_id": {"$in": list(memory_ids[at : at + HELD_AT_ONCE])}}
            await self.database[COLLECTION].update_many(query, {"$set": changes})


_RAISED = ("importance", "last_seen", "about_writing")
"""Fields in which a merged memory keeps the greater value; `salience` is derived from them."""
_COMPARED = dict.fromkeys(
    (
        *("content", "type", "trust", "count", "status", "created", "created_at", "last_seen", "importance"),
        *("valid_from", "valid_until", "sensitive", "consolidated", "asked_at", "content_embedding"),
    ),
    1,
)


def _float32(stored: Any) -> bytes:
    if isinstance(stored, bytes):
        return bytes(stored[2:]) if stored[:1] == BinaryVectorDtype.FLOAT32.value else b""
    return array("f", stored or ()).tobytes()
