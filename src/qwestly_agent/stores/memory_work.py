"""Stores for the memory workflows: pending notes, memories waiting for the judge, and merges."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from itertools import combinations
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict
from pymongo.errors import DuplicateKeyError

from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.memory import Memory, salience
from qwestly_agent.platform.collection import (
    ALL_ACTIONS,
    Backlog,
    Document,
    Expires,
    MongoCollection,
    Store,
    across_users,
    index,
)
from qwestly_agent.platform.outbox import copy_after_write, with_events
from qwestly_agent.platform.records import Records
from qwestly_agent.stores.memories import (
    ACTIVE,
    COLLECTION,
    MERGED,
    MOST_MESSAGE_IDS,
    SUPERSEDED,
    UNCHECKED,
    WITHOUT_VECTORS,
    created_of,
    memories_of,
)
from qwestly_agent.stores.search import to_binary, to_floats
from qwestly_agent.text.language import indexed_words

# --- extractions ------------------------------------------------------------------------------------------------------
# `agent_extractions`: notes extracted from a batch of messages, until they are stored as memories.
#
# A batch's id is derived from its start, so that a retry after a crash finds the earlier results and does not call a
# model again. A batch contains user text only until its memories are stored.


BATCH_RETENTION = timedelta(days=30)
EXTRACTIONS = MongoCollection(
    "agent_extractions",
    Expires(BATCH_RETENTION),
    index("user", "user_id"),
    holds="notes of a conversation that was read for memories",
    events=("memory.extracted",),
    events_note="one per conversation",
    reader=ALL_ACTIONS,
)

BatchStatus = Literal["found", "judged", "decided", "stored"]


class Batch(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)

    id: str
    user_id: str
    conversation_id: str
    run_id: str
    read_from: int
    """The batch begins after this `seq`."""
    read_to: int
    status: BatchStatus = "found"
    found: Any = ()
    """JSON of the notes that passed the checks; empty once stored."""
    decisions: Any = ()
    """JSON of the decision on each note; empty once stored."""
    vectors: tuple[tuple[float, ...], ...] = ()
    dropped: Mapping[str, int] = {}
    """Number of discarded notes, by reason."""
    unread: tuple[tuple[str, str], ...] = ()
    """Ids of messages with unread lines, and the line numbers, such as "3–9"."""
    proposed: tuple[str, ...] = ()
    """Ids of the memories that wait for approval."""
    tries: int = 0
    """How often the judge was unavailable for one of the batch's memories; 0 if none is waiting for the judge."""
    created_at: float


class Extractions(Records[Batch]):
    collection, model, missing = EXTRACTIONS, Batch, "There is no such extraction."
    nested = ("found", "decisions")

    async def store_judged(self, user_id: str, batch_id: str, found: Any, dropped: Mapping[str, int]) -> None:
        """Store the notes after the judge has checked them or was unavailable."""
        changes = {"status": "judged", "found": found, "dropped": dict(dropped)}
        await self.set_fields(user_id, batch_id, changes, status="found")

    async def store_decisions(
        self,
        user_id: str,
        batch_id: str,
        decisions: Any,
        vectors: Sequence[Sequence[float]],
        dropped: Mapping[str, int],
    ) -> None:
        stored = [to_binary(vector) for vector in vectors]
        changes = {"status": "decided", "decisions": decisions, "vectors": stored, "dropped": dict(dropped)}
        await self.set_fields(user_id, batch_id, changes, status="judged")

    async def mark_stored(
        self, user_id: str, batch_id: str, proposed: Sequence[str], tries: int, events: Sequence[ActivityEvent] = ()
    ) -> None:
        """Mark the batch as stored, and remove the user's text from it."""
        empty = {"found": (), "decisions": (), "vectors": []}
        changes = {**empty, "status": "stored", "proposed": list(proposed), "tries": tries}
        await self.set_fields(user_id, batch_id, changes, *events, status="decided")

    async def delete_unstored(self, user_id: str, conversation_id: str | None = None) -> None:
        """Delete unstored batches, of one conversation or of all. Stored ones are kept."""
        query: Document = {"user_id": user_id, "status": {"$in": ["found", "judged", "decided"]}}
        if conversation_id is not None:
            query["conversation_id"] = conversation_id
        await self.database[EXTRACTIONS].delete_many(query)

    @classmethod
    def to_document(cls, record: Batch) -> Document:
        return {**super().to_document(record), "vectors": [to_binary(vector) for vector in record.vectors]}

    @classmethod
    def from_document(cls, document: Document) -> Batch:
        return super().from_document({**document, "vectors": [to_floats(each) for each in document["vectors"]]})


# --- unchecked --------------------------------------------------------------------------------------------------------
# Memories in `user_memories` that wait for the judge.


class Unchecked(Store):
    async def replace_judged(
        self,
        user_id: str,
        memory: Memory,
        hash: str,
        vector: Sequence[float],
        replaces: Sequence[str],
        events: Sequence[ActivityEvent] = (),
    ) -> bool:
        """Replace an unchecked memory with its judged version. Returns False if it is no longer unchecked, or if an
        equal memory exists."""
        fields = memory.model_dump(
            include={
                *("status", "content", "quote", "question", "trust"),
                *("sensitive", "about_writing", "retells", "valid_from"),
                *({"undo_until"} if memory.undo_until else ()),
            }
        )
        changes = {
            **fields,
            "hash": hash,
            "key": hash,
            "words": indexed_words(memory.content),
            "content_embedding": to_binary(vector) if vector else None,
            "consolidated": False,
            **({"replaces": list(replaces)} if replaces else {}),
        }
        gone = {"context": "", "tries": "", "is_doubtful": ""}
        query = {"_id": memory.id, "user_id": user_id, "status": UNCHECKED}
        try:
            update = with_events({"$set": changes, "$unset": gone}, *events)
            changed = await self.database[COLLECTION].update_one(query, update)
        except DuplicateKeyError:
            return False
        if events and changed.matched_count:
            await copy_after_write(self.database, COLLECTION, user_id, memory.id)
        return changed.matched_count == 1

    async def list_of_conversation(self, user_id: str, conversation_id: str) -> list[Memory]:
        """List the unchecked memories of a conversation, oldest first."""
        query = {"user_id": user_id, "status": UNCHECKED, "source.conversation_id": conversation_id}
        found = self.database[COLLECTION].find(query, WITHOUT_VECTORS).sort([("created", 1), ("_id", 1)])
        return memories_of(await found.to_list())

    async def delete(self, user_id: str, memory_ids: Collection[str]) -> None:
        """Delete whichever of these memories are still unchecked, because the judge rejected them or their conversation
        was deleted."""
        query = {"user_id": user_id, "_id": {"$in": list(memory_ids)}, "status": UNCHECKED}
        await self.database[COLLECTION].delete_many(query)

    async def set_tries(self, user_id: str, memory_id: str, tries: int) -> None:
        """Record the number of failed attempts to have the memory judged."""
        query = {"_id": memory_id, "user_id": user_id, "status": UNCHECKED}
        await self.database[COLLECTION].update_one(query, {"$set": {"tries": tries}})


# --- journal ----------------------------------------------------------------------------------------------------------
# `agent_memory_journal`: the replacements of each consolidation, so that it can be resumed, reported and undone.
#
# It contains ids and numbers but no user text, so forgetting does not have to change it.


RETENTION = timedelta(days=365)
JOURNAL = MongoCollection(
    "agent_memory_journal",
    # An undone run has no expiry date, so that its merges are not made again.
    Expires(RETENTION, since="after it ran; what was undone stays until the user erases it"),
    index("user_created", "user_id", "created"),
    index("status", "status"),
    holds="ids of the memories that a night merged",
    events=("memory.merged", "memory.merge_undone"),
    events_note="`merged`: one per night",
    reader=ALL_ACTIONS,
)

RunStatus: TypeAlias = Literal["planned", "applied", "undoing", "undone"]


class ReplacedMemory(BaseModel):
    """A replaced memory, and the active one that replaces it."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    gone: str
    by: str
    status: Literal["merged", "superseded"]
    """New status of the replaced memory."""


class ConsolidationRun(BaseModel):
    """One consolidation of a user's memories. Times are in seconds since the epoch."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    user_id: str
    run_id: str
    status: RunStatus = "planned"
    created: float
    replacements: tuple[ReplacedMemory, ...] = ()
    left: int = 0
    """Number of replacements above the cap, left for the next run."""
    compared: tuple[str, ...] = ()
    """Memories to mark as compared at the end of the run; empty afterwards."""
    outdated: tuple[str, ...] = ()
    """Memories that may no longer be true."""

    @property
    def id(self) -> str:
        return _id(self.user_id, self.run_id)

    @property
    def is_undone(self) -> bool:
        """True once it is being undone."""
        return self.status in ("undoing", "undone")

    @property
    def pairs_kept_apart(self) -> frozenset[frozenset[str]]:
        """Pairs that are never merged again once the run was undone, including memories merged into the same one."""
        groups: dict[str, list[str]] = {}
        for each in self.replacements:
            if each.status == "merged":
                groups.setdefault(each.by, [each.by]).append(each.gone)
        together = [frozenset(pair) for group in groups.values() for pair in combinations(group, 2)]
        return frozenset([*together, *(frozenset((each.gone, each.by)) for each in self.replacements)])


class Journal(Records[ConsolidationRun]):
    collection, model, missing = JOURNAL, ConsolidationRun, "There is no such run."
    order, kept_since = ("created", "_id"), "created"

    async def get(self, user_id: str, run_id: str, /) -> ConsolidationRun:
        return await super().get(user_id, _id(user_id, run_id))

    async def list_all(self, user_id: str) -> list[ConsolidationRun]:
        """List all runs, oldest first."""
        return (await self.newest(user_id, 0))[::-1]

    @across_users
    async def list_undoing(self, limit: int) -> list[ConsolidationRun]:
        """List runs whose undo has begun but not ended."""
        found = self.database[JOURNAL].find({"status": "undoing"}).limit(limit)
        return [self.from_document(document) for document in await found.to_list()]

    async def begin_undo(self, run: ConsolidationRun) -> None:
        """Record that the run is being undone, so that the next sweep resumes an interrupted undo."""
        await self.set_fields(run.user_id, run.id, {"status": "undoing"})

    async def end(self, run: ConsolidationRun, status: RunStatus, now: float) -> None:
        """Set the final status. An undone run never expires, so that its pairs are never merged again."""
        gone = {"compared": "", **({"expires_at": ""} if status == "undone" else {})}
        change = {"$set": {"status": status}, "$unset": gone}
        events = [_event(run, status, now)] if run.replacements else []
        query = {"_id": run.id, "user_id": run.user_id, "status": "planned" if status == "applied" else {"$ne": status}}
        await self.database[JOURNAL].update_one(query, with_events(change, *events))
        await self._copy(run.user_id, run.id, events)


_EVENTS: Mapping[RunStatus, tuple[str, str]] = {
    "applied": ("memory.merged", "Put together what says the same, or holds no more"),
    "undone": ("memory.merge_undone", "Took apart again what was put together"),
}


def _event(run: ConsolidationRun, status: RunStatus, now: float) -> ActivityEvent:
    type_, title = _EVENTS[status]
    return ActivityEvent(
        id=f"{run.id}:{status}",
        user_id=run.user_id,
        at=now,
        type=type_,
        role="memory",
        title=title,
        run_id=run.run_id,
        data={"replaced": len(run.replacements)},
    )


def find_unfinished(runs: Sequence[ConsolidationRun]) -> ConsolidationRun | None:
    """Return the run that was planned but has not been applied or undone, if any."""
    return next((run for run in runs if run.status == "planned"), None)


def _id(user_id: str, run_id: str) -> str:
    # The user id comes first: the local database does not find an `_id` that begins with a date.
    return f"{user_id}:{run_id}"


# --- merges -----------------------------------------------------------------------------------------------------------
# Consolidation in `user_memories`: compare, merge and supersede pairs of memories, and undo this.


MOST_ABSORBED = 200
"""Maximum number of ids of merged memories stored per memory; they prevent counting a merge twice."""
HELD_AT_ONCE = 1_000
YEAR = 365 * 86_400.0
"""A year in seconds."""
LITTLE_IMPORTANCE = 0.3


class Merges(Store):
    @across_users
    async def list_due_users(self, after: str, limit: int, until: str | None = None) -> list[str]:
        """List user ids above `after` (and up to `until`), ascending, that have unconsolidated memories."""
        users, upper = list[str](), {} if until is None else {"$lte": until}
        while len(users) < limit:
            ids = {"$gt": users[-1] if users else after, **upper}
            found = self.database[COLLECTION].find({**_NEW, "user_id": ids}, {"_id": 0, "user_id": 1})
            page = await found.sort("user_id", 1).limit(HELD_AT_ONCE).to_list()
            users += dict.fromkeys(each["user_id"] for each in page)
            if len(page) < HELD_AT_ONCE:
                break
        return users[:limit]

    @across_users
    async def backlog(self) -> Backlog:
        """Count active memories that have not been compared with the others."""
        return await self._backlog(COLLECTION, dict(_NEW), "created")

    async def list_new(self, user_id: str, limit: int) -> list[tuple[Memory, Sequence[float]]]:
        """List active memories that have not been compared with the others yet, each with its vector (empty if it has
        none). Those stated longest ago come first."""
        found = self.database[COLLECTION].find({**_NEW, "user_id": user_id})
        documents = await found.sort([("last_seen", 1), ("created", 1), ("_id", 1)]).limit(limit).to_list()
        return [
            (memory, to_floats(document.get("content_embedding") or ()))
            for document in documents
            for memory in memories_of([document])
        ]

    async def count_active(self, user_id: str) -> int:
        return await self.database[COLLECTION].count_documents({"user_id": user_id, "status": ACTIVE})

    async def list_outdated(self, user_id: str, now: float) -> list[str]:
        """List ids of active memories that may be outdated: those whose end has passed, earliest end first, then
        unimportant ones not stated for a year. Memories that the user was asked about within a year are excluded."""
        year_ago, ended, unsaid = now - YEAR, list[tuple[float, str]](), list[tuple[float, str]]()
        query = {"user_id": user_id, "status": ACTIVE}
        async for document in self.database[COLLECTION].find(query, WITHOUT_VECTORS).batch_size(HELD_AT_ONCE):
            for memory in memories_of([document] if document.get("asked_at", 0.0) <= year_ago else []):
                said = memory.last_seen or created_of(document)
                if memory.valid_until is not None and memory.valid_until.timestamp() <= now:
                    ended.append((memory.valid_until.timestamp(), memory.id))
                elif said <= year_ago and memory.importance <= LITTLE_IMPORTANCE:
                    unsaid.append((said, memory.id))
        return [memory_id for _, memory_id in (*sorted(ended), *sorted(unsaid))]

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
        """Add the count of a merged memory to this one, only once. Importance and the time last stated become the
        greater of both; the memory's own values are kept in `own`."""
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
                    # Inserted before its own ids, so that its own are the last to be dropped.
                    "seen": {"$each": list(gone.get("seen", ())), "$position": 0, "$slice": -MOST_MESSAGE_IDS},
                },
            },
        )

    async def undo_replacement(self, user_id: str, gone_id: str, by_id: str, run_id: str) -> bool:
        """Undo a replacement made by this run. Returns False if that replacement no longer exists, or if an equal
        memory was added since; in the latter case the memory is merged into the new one."""
        query = {"_id": gone_id, "user_id": user_id, "status": {"$in": [MERGED, SUPERSEDED]}}
        query |= {"superseded_by": by_id, "replaced_in": run_id}
        found = await self.database[COLLECTION].find_one(query, WITHOUT_VECTORS)
        if found is None:
            return False
        await self._give_back(user_id, by_id, found)  # first, so that it runs again if the process dies in between
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
        """Subtract, only once, what this memory took over from a merged one. Later increases of its own are kept."""
        took_in = {"_id": by_id, "user_id": user_id, "took_in": gone["_id"]}
        by = await self.database[COLLECTION].find_one(took_in, WITHOUT_VECTORS)
        if by is None:
            return
        left, seen = [each for each in by["took_in"] if each != gone["_id"]], list(by.get("seen", ()))
        for each in gone.get("seen", ()):
            if each in seen:
                seen.remove(each)
        rest = self.database[COLLECTION].find({"_id": {"$in": left}, "user_id": user_id}, dict.fromkeys(_RAISED, 1))
        own = by.get("own", {})
        back = _raised(own, await rest.to_list())
        if by.get("last_seen", 0.0) > max(back.get("last_seen", 0.0), gone.get("last_seen", 0.0)):
            back["last_seen"] = by["last_seen"]  # it was stated again since
        if back.get("importance") != own.get("importance"):
            back["salience"] = salience(back["importance"], created_of(by))
        count = by.get("took", {}).get(gone["_id"], gone.get("count", 1))
        noted = (f"took.{gone['_id']}",) if left else ("took", "took_in", "own")
        change = {
            "$set": {**back, "seen": seen, **({"took_in": left} if left else {})},
            "$inc": {"count": -count},
            "$unset": dict.fromkeys((*noted, *(name for name in _RAISED if name not in back)), ""),
        }
        await self.database[COLLECTION].update_one(took_in, change)
        while by and by["status"] == MERGED:  # the memory above it got these messages only through it
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


_NEW: Document = {"consolidated": False, "status": ACTIVE}
_RAISED = ("importance", "last_seen", "about_writing", "salience")
"""Fields in which a merged memory keeps the greater value."""


def _raised(own: Document, others: Sequence[Document]) -> Document:
    """Return the raised fields of a memory that has absorbed `others`, or its own values if there are none."""
    greatest = {
        name: max(each[name] for each in others if name in each) for name in _RAISED if name in set().union(*others)
    }
    return {**own, **{name: max(value, own.get(name, value)) for name, value in greatest.items() if name != "salience"}}
