"""`user_memories`: memories, each with its source.

A memory is one document. Its `key` is unique per user: while it is active (or waits for approval or for the judge) the
key is the hash of its content, so that nothing is remembered twice; afterwards the key is its id. A forgotten memory
stays as a tombstone (`domain/tombstone.py`), without text.
"""

import asyncio
from array import array
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson.binary import BinaryVectorDtype
from pydantic import ValidationError
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.memory import Found, Memory, Score
from qwestly_agent.domain.ranking import present, salience
from qwestly_agent.domain.tombstone import Telling, Tombstone, hashes_of, signature_of
from qwestly_agent.stores.search import (
    Document,
    Known,
    Match,
    Searchable,
    cosines_of,
    fuse_ranks,
    rank_ids,
    to_binary,
    to_floats,
)

COLLECTION = "user_memories"
ACTIVE, PROPOSED, UNCHECKED = "active", "proposed", "unchecked"
SUPERSEDED, MERGED, FORGOTTEN = "superseded", "merged", "forgotten"
UNIQUE_STATUSES = (ACTIVE, PROPOSED, UNCHECKED)
"""Among memories of these statuses, no two have equal content."""
READABLE = (*UNIQUE_STATUSES, SUPERSEDED, MERGED)
RECENT = 50
"""Number of latest writes compared in this process, because an index sees a write a moment later."""
MOST_SEEN = 200
"""Message ids stored per memory, so that no message counts twice."""
MOST_TAKEN_IN = 200
"""Ids of merged memories stored per memory, so that none counts twice."""
HELD_AT_ONCE = 1_000
_WITHOUT_VECTORS = {"content_embedding": 0}
_TOMBSTONE_FIELDS = (
    *("user_id", "status", "key", "hashes", "signature", "dimensions", "seen"),
    *("forgotten_at", "withdrawn_at"),
)
"""All fields of a tombstone."""


@dataclass(frozen=True)
class Near:
    memory: Memory
    cosine: float


@dataclass(frozen=True)
class Gone:
    """A memory that is being forgotten: its text is kept until it is removed everywhere else."""

    id: str
    content: str
    quote: str
    question: str
    hash: str
    message_ids: tuple[str, ...]
    """Ids of all messages in which it was said."""


@dataclass(frozen=True)
class Held:
    """The fields of an active memory that consolidation compares. Times as numbers are seconds since the epoch."""

    id: str
    content: str
    trust: str
    count: int
    created: float
    said: float
    """When it was last said."""
    importance: float
    valid_from: datetime | None
    valid_until: datetime | None
    new: bool
    """Not yet compared with the others."""
    sensitive: bool = False
    asked: float | None = None
    """When the user was last asked whether it is still true."""


@dataclass(frozen=True)
class Memories:
    database: AsyncDatabase[Document]
    searchable: Searchable

    @classmethod
    def of(cls, database: AsyncDatabase[Document]) -> "Memories":
        searchable = Searchable(
            database[COLLECTION],
            "user_memories_vector_index",
            "content_embedding",
            "content",
            words_index="user_memories_search_index",
            preferred_by="salience",
        )
        return cls(database, searchable)

    # --- reading ------------------------------------------------------------------------------------------------------

    async def most_salient(self, user_id: str, limit: int) -> list[Memory]:
        """The active memories of highest salience, best first: one index scan that reads no vectors."""
        found = self.database[COLLECTION].find({"user_id": user_id, "status": ACTIVE}, _WITHOUT_VECTORS)
        return _memories(await found.sort("salience", -1).limit(limit).to_list())

    async def last_withdrawn(self, user_id: str) -> float | None:
        """When a memory of this user was last forgotten, corrected or superseded, in seconds since the epoch."""
        query = {"user_id": user_id, "withdrawn_at": {"$gt": 0}}
        found = self.database[COLLECTION].find(query, {"withdrawn_at": 1}).sort("withdrawn_at", -1).limit(1)
        newest = await found.to_list()
        return newest[0]["withdrawn_at"] if newest else None

    async def forgotten_since(self, user_id: str, moment: float) -> bool:
        """True if anything was forgotten since `moment` (seconds since the epoch)."""
        query = {"user_id": user_id, "withdrawn_at": {"$gte": moment}, "status": FORGOTTEN}
        return await self.database[COLLECTION].find_one(query, {"_id": 1}) is not None

    async def get(self, user_id: str, memory_id: str) -> Memory:
        """Raises `NotFound`, also if it was forgotten."""
        query = {"_id": memory_id, "user_id": user_id, "status": {"$in": list(READABLE)}}
        found = _memories(await self.database[COLLECTION].find(query, _WITHOUT_VECTORS).to_list())
        if not found:
            raise NotFound("There is no such memory.")
        return found[0]

    async def of_ids(self, user_id: str, memory_ids: Collection[str]) -> list[Memory]:
        """The memories of these ids, without forgotten or invalid ones."""
        query = {"_id": {"$in": list(memory_ids)}, "user_id": user_id, "status": {"$in": list(READABLE)}}
        return _memories(await self.database[COLLECTION].find(query, _WITHOUT_VECTORS).to_list())

    async def has(self, user_id: str, memory_id: str) -> bool:
        """True if the memory exists or was forgotten."""
        return await self.database[COLLECTION].find_one({"_id": memory_id, "user_id": user_id}, {"_id": 1}) is not None

    async def newest(self, user_id: str, limit: int, skip: int = 0, status: str = ACTIVE) -> list[Memory]:
        """The newest first."""
        found = self.database[COLLECTION].find({"user_id": user_id, "status": status}, _WITHOUT_VECTORS)
        return _memories(await found.sort([("created", -1), ("_id", 1)]).skip(skip).limit(limit).to_list())

    async def each(self, user_id: str) -> AsyncIterator[Memory]:
        """All memories, in no order, without forgotten or invalid ones."""
        query = {"user_id": user_id, "status": {"$in": list(READABLE)}}
        async for document in self.database[COLLECTION].find(query, _WITHOUT_VECTORS):
            for memory in _memories([document]):
                yield memory

    async def replaced_by(self, user_id: str, memory_ids: Collection[str]) -> list[Memory]:
        """The memories that these superseded or took in by merging."""
        query = {
            "user_id": user_id,
            "superseded_by": {"$in": list(memory_ids)},
            "status": {"$in": [SUPERSEDED, MERGED]},
        }
        return _memories(await self.database[COLLECTION].find(query, _WITHOUT_VECTORS).to_list())

    async def search(
        self, user_id: str, words: str, vector: Sequence[float] | None, limit: int, now: float
    ) -> list[Found]:
        """Active memories ranked by words and by meaning; without a vector, only those that contain one of the
        words."""
        found = await self.searchable.nearest({"user_id": user_id, "status": ACTIVE}, words, vector, limit)
        return [
            Found(memory=memory, score=_score(match, now)) for match in found for memory in _memories([match.document])
        ]

    async def near(self, user_id: str, asked: Sequence[tuple[str, Sequence[float]]], limit: int) -> list[list[Near]]:
        """For each text and its vector, the nearest active or proposed memories, ranked by words and by meaning. The
        latest writes are compared too, even if an index does not have them yet."""
        query = {"user_id": user_id, "status": {"$in": [ACTIVE, PROPOSED]}}
        newest = self.database[COLLECTION].find(query).sort("created", -1).limit(RECENT)
        found, recent = await asyncio.gather(self.searchable.nearest_to_each(query, asked, limit), newest.to_list())
        wanted = {match.document["_id"] for matches in found for match in matches} - {each["_id"] for each in recent}
        rest = self.database[COLLECTION].find({**query, "_id": {"$in": list(wanted)}})
        documents = [*recent, *(await rest.to_list() if wanted else ())]
        return [nearest(documents, words, vector, limit) for words, vector in asked]

    async def of_hashes(self, user_id: str, hashes: Collection[str]) -> dict[str, Memory]:
        """Active or waiting memories by the hash of their content."""
        query = {"user_id": user_id, "key": {"$in": list(hashes)}, "status": {"$in": list(UNIQUE_STATUSES)}}
        found = await self.database[COLLECTION].find(query, _WITHOUT_VECTORS).to_list()
        return {document["key"]: memory for document in found for memory in _memories([document])}

    async def tombstones(self, user_id: str) -> list[Tombstone]:
        """Tombstones of everything that this user had forgotten."""
        fields = {"hashes": 1, "signature": 1, "dimensions": 1, "seen": 1, "user_id": 1}
        found = self.database[COLLECTION].find({"user_id": user_id, "status": FORGOTTEN}, fields)
        return [_tombstone(document) async for document in found]

    async def lineage(self, user_id: str, memory_ids: Collection[str], hashes: Collection[str] = ()) -> list[Memory]:
        """These memories, all that were merged into them or superseded by them, the memory that a merged one went into,
        and all with the same hash as one of these or of `hashes`, or whose content contains their words."""
        found: dict[str, Memory] = {}
        left, known, read = set(memory_ids), set(hashes), set[str]()
        while left or known:
            readable = {"user_id": user_id, "status": {"$in": list(READABLE)}}
            fields = _WITHOUT_VECTORS
            documents = await self.database[COLLECTION].find({**readable, "_id": {"$in": list(left)}}, fields).to_list()
            same = self.database[COLLECTION].find({**readable, "hash": {"$in": list(known)}}, fields)
            documents = [each for each in (*documents, *await same.to_list()) if each["_id"] not in read]
            read |= {each["_id"] for each in documents}
            new = {each.id: each for each in _memories(documents)}
            found |= new
            survivors = {each.superseded_by for each in new.values() if each.status == MERGED and each.superseded_by}
            replaced = {each.id for each in await self.replaced_by(user_id, [*left, *new])}
            left = (survivors | replaced) - read
            known = {each["hash"] for each in documents if each.get("hash")}
        told = Telling(words for each in found.values() for words in (each.quote, each.content))
        async for each in self.each(user_id):  # the user's own sentence may contain another memory's words
            if each.id not in found and told.stands_in(each.content):
                found[each.id] = each
        return list(found.values())

    # --- writing ------------------------------------------------------------------------------------------------------

    async def add(
        self,
        user_id: str,
        memory: Memory,
        hash: str,
        vector: Sequence[float],
        now: float,
        seen: Sequence[str] = (),
        replaces: Sequence[str] = (),
    ) -> bool:
        """Insert a memory; False if it exists already, or an equal one does. `replaces` are the memories that it
        replaces once it is approved."""
        fields = memory.model_dump(exclude={"id", "created_at", "superseded_by", "superseded_at"})
        document = {
            **fields,
            "_id": memory.id,
            "user_id": user_id,
            "hash": hash,
            "key": hash,
            "seen": list(seen or memory.source.message_ids)[-MOST_SEEN:],
            "salience": salience(memory.importance, now),
            "created": now,
            "created_at": to_datetime(now),
            "content_embedding": to_binary(vector),
            "consolidated": False,
            **({"replaces": list(replaces)} if replaces else {}),
        }
        try:
            await self.database[COLLECTION].insert_one(document)
        except DuplicateKeyError:
            return False
        return True

    async def settle(
        self, user_id: str, memory: Memory, hash: str, vector: Sequence[float], replaces: Sequence[str]
    ) -> bool:
        """Replace an unchecked memory by its judged version. False if it is no longer unchecked, or an equal one
        exists."""
        fields = memory.model_dump(
            include={
                *("status", "content", "quote", "question", "trust"),
                *("sensitive", "retells", "valid_from"),
                *({"undo_until"} if memory.undo_until else ()),
            }
        )
        changes = {
            **fields,
            "hash": hash,
            "key": hash,
            "content_embedding": to_binary(vector),
            "consolidated": False,
            **({"replaces": list(replaces)} if replaces else {}),
        }
        gone = {"context": "", "tries": ""}
        query = {"_id": memory.id, "user_id": user_id, "status": UNCHECKED}
        try:
            changed = await self.database[COLLECTION].update_one(query, {"$set": changes, "$unset": gone})
        except DuplicateKeyError:
            return False
        return changed.matched_count == 1

    async def unchecked(self, user_id: str, conversation_id: str) -> list[Memory]:
        """Unchecked memories of a conversation, oldest first."""
        query = {"user_id": user_id, "status": UNCHECKED, "source.conversation_id": conversation_id}
        found = self.database[COLLECTION].find(query, _WITHOUT_VECTORS).sort([("created", 1), ("_id", 1)])
        return _memories(await found.to_list())

    async def drop_unchecked(self, user_id: str, memory_ids: Collection[str]) -> None:
        """Delete those of these memories that are still unchecked: rejected by the judge, or of a deleted
        conversation."""
        query = {"user_id": user_id, "_id": {"$in": list(memory_ids)}, "status": UNCHECKED}
        await self.database[COLLECTION].delete_many(query)

    async def note_try(self, user_id: str, memory_id: str, tries: int) -> None:
        """Record the number of failed attempts to have it judged."""
        await self._set(user_id, {"_id": memory_id, "status": UNCHECKED}, {"tries": tries})

    async def restore(self, user_id: str, memory_id: str, newer_id: str) -> bool:
        """Reactivate a memory that the newer one superseded or took in; False if it no longer is replaced by that one,
        or an equal one exists since."""
        replaced = {"status": {"$in": [SUPERSEDED, MERGED]}, "superseded_by": newer_id}
        query = {"_id": memory_id, "user_id": user_id, **replaced}
        found = await self.database[COLLECTION].find_one(query, {"hash": 1})
        if found is None:
            return False
        change = {
            "$set": {"status": ACTIVE, "key": found["hash"]},
            "$unset": {"superseded_by": "", "superseded_at": "", "withdrawn_at": "", "replaced_in": ""},
        }
        try:
            return (await self.database[COLLECTION].update_one(query, change)).matched_count == 1
        except DuplicateKeyError:
            return False

    async def reinforce(self, user_id: str, memory_id: str, message_ids: Sequence[str], now: float) -> bool:
        """Count that it was said again in these messages; False if they were counted already, or it is not active."""
        changed = await self.database[COLLECTION].update_one(
            {
                "_id": memory_id,
                "user_id": user_id,
                "status": {"$in": [ACTIVE, PROPOSED]},
                "seen": {"$nin": list(message_ids)},
            },
            {
                "$inc": {"count": 1},
                "$max": {"last_seen": now},
                "$push": {"seen": {"$each": list(message_ids), "$slice": -MOST_SEEN}},
            },
        )
        return changed.matched_count == 1

    async def supersede(self, user_id: str, older_id: str, newer_id: str, now: float) -> bool:
        """Mark the older one as replaced by the newer one; it keeps its text. False if it was not active any more."""
        changes = {
            "status": SUPERSEDED,
            "superseded_by": newer_id,
            "superseded_at": now,
            "withdrawn_at": now,
            "key": older_id,
        }
        if await self._set(user_id, {"_id": older_id, "status": ACTIVE}, changes):
            return True
        # A memory that was never active is no earlier version of this one.
        waiting = {"_id": older_id, "user_id": user_id, "status": {"$in": [PROPOSED, UNCHECKED]}}
        return (await self.database[COLLECTION].delete_one(waiting)).deleted_count == 1

    async def keep_proposed(self, user_id: str, memory_ids: Collection[str], now: float) -> None:
        """Activate approved memories (idempotent)."""
        query = {"user_id": user_id, "_id": {"$in": list(memory_ids)}}
        found = await self.database[COLLECTION].find(query, {"status": 1, "replaces": 1, "retells": 1}).to_list()
        for each in found:
            # Before the status is set, which marks all of this as done.
            for replaced in each.get("replaces") or ():
                await self.supersede(user_id, replaced, each["_id"], now)
            await self.unforget(user_id, each.get("retells") or ())
            await self._set(user_id, {"_id": each["_id"], "status": PROPOSED}, {"status": ACTIVE})

    async def drop_proposed(self, user_id: str, memory_ids: Collection[str]) -> None:
        """Delete those of these memories that still wait for approval, as nobody decided on them."""
        query = {"user_id": user_id, "_id": {"$in": list(memory_ids)}, "status": PROPOSED}
        await self.database[COLLECTION].delete_many(query)

    async def forget(self, user_id: str, memory_ids: Collection[str], now: float) -> None:
        """Reduce memories that are used nowhere else to tombstones."""
        await self.begin_forgetting(user_id, memory_ids, now)
        await self.end_forgetting(user_id, memory_ids, now)

    async def begin_forgetting(self, user_id: str, memory_ids: Collection[str], now: float) -> dict[str, str]:
        """Hide these memories; their text stays until it is removed elsewhere. Returns, by id, what each had been
        replaced by."""
        replaced: dict[str, str] = {}
        for memory_id in memory_ids:
            readable = {"_id": memory_id, "user_id": user_id, "status": {"$in": list(READABLE)}}
            found = await self.database[COLLECTION].find_one(readable)
            if found is None:
                continue
            vector = to_floats(found["content_embedding"]) if found.get("content_embedding") else ()
            tombstone = {
                "hashes": sorted(hashes_of(user_id, found.get("content", ""), found.get("quote", ""))),
                "signature": signature_of(vector).hex(),
                "dimensions": len(vector),
            }
            changes = {"status": FORGOTTEN, "key": memory_id, "forgotten_at": now, "withdrawn_at": now, **tombstone}
            change = {"$set": changes, "$unset": {"content_embedding": ""}}
            before = await self.database[COLLECTION].find_one_and_update(readable, change, {"superseded_by": 1})
            if before and before.get("superseded_by"):
                replaced[memory_id] = before["superseded_by"]
        return replaced

    async def being_forgotten(self, user_id: str) -> list[Gone]:
        """Memories that are being forgotten, including those left by a process that died."""
        query = {"user_id": user_id, "status": FORGOTTEN, "content": {"$exists": True}}
        found = self.database[COLLECTION].find(query, _WITHOUT_VECTORS)
        return [_gone(document) async for document in found]

    async def end_forgetting(self, user_id: str, memory_ids: Collection[str], now: float) -> None:
        """Reduce these memories to tombstones. `now` is recorded: prompts made until then may contain them."""
        query = {"user_id": user_id, "_id": {"$in": list(memory_ids)}, "status": FORGOTTEN}
        async for found in self.database[COLLECTION].find(query, dict.fromkeys(_TOMBSTONE_FIELDS, 1)):
            left = {**found, "withdrawn_at": now}
            await self.database[COLLECTION].replace_one({**query, "_id": found["_id"]}, left)

    async def requote(self, user_id: str, memory_id: str, quote: str, question: str, context: str) -> None:
        """Replace quote, question and context, from which forgotten parts were removed."""
        query = {"_id": memory_id, "status": {"$in": list(READABLE)}}
        await self._set(user_id, query, {"quote": quote, "question": question, "context": context})

    async def discard(self, user_id: str, memory_ids: Collection[str]) -> None:
        """Delete memories just written, as their sources or what they replace were forgotten meanwhile."""
        query = {"user_id": user_id, "_id": {"$in": list(memory_ids)}, "status": {"$in": list(UNIQUE_STATUSES)}}
        await self.database[COLLECTION].delete_many(query)

    async def unforget(self, user_id: str, tombstone_ids: Collection[str]) -> None:
        """Delete tombstones, as the user wants this remembered again."""
        query = {"user_id": user_id, "_id": {"$in": list(tombstone_ids)}, "status": FORGOTTEN}
        await self.database[COLLECTION].delete_many(query)

    async def _set(self, user_id: str, query: Document, changes: Document) -> int:
        changed = await self.database[COLLECTION].update_one({**query, "user_id": user_id}, {"$set": changes})
        return changed.matched_count

    # --- consolidation ------------------------------------------------------------------------------------------------

    async def each_held(self, user_id: str) -> AsyncIterator[tuple[Held, bytes]]:
        """All active memories in one pass, each with its vector: float32 bytes, empty if it has none."""
        query = {"user_id": user_id, "status": ACTIVE}
        async for document in self.database[COLLECTION].find(query, _COMPARED).batch_size(HELD_AT_ONCE):
            for memory in _memories([document]):
                created = _created(document)
                held = Held(
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

    async def holds(self, user_id: str, memory_id: str, run_id: str) -> bool:
        """True if it is active or merged into an active one; what this run superseded still counts as active."""
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
        """Set an active memory to `status` (merged or superseded), replaced by `by_id`. It keeps its text."""
        changes = {
            "status": status,
            "superseded_by": by_id,
            "superseded_at": now,
            "withdrawn_at": now,
            "key": gone_id,
            "replaced_in": run_id,
        }
        await self._set(user_id, {"_id": gone_id, "status": ACTIVE}, changes)

    async def take_in(self, user_id: str, by_id: str, gone_id: str) -> None:
        """Add the count of a merged memory to this one, once. Importance and the time last said become the greater of
        the two."""
        ids = {"$in": [by_id, gone_id]}
        found = self.database[COLLECTION].find({"user_id": user_id, "_id": ids}, _WITHOUT_VECTORS)
        both = {document["_id"]: document async for document in found}
        by, gone = both.get(by_id), both.get(gone_id)
        if by is None or gone is None or (gone["status"], gone.get("superseded_by")) != (MERGED, by_id):
            return
        importance = gone.get("importance", 0.5)
        await self.database[COLLECTION].update_one(
            {"_id": by_id, "user_id": user_id, "status": ACTIVE, "took_in": {"$nin": [gone_id]}},
            {
                "$inc": {"count": gone.get("count", 1)},
                # At the same age, the more important memory has the higher salience.
                "$max": {
                    "last_seen": gone.get("last_seen", 0.0),
                    "importance": importance,
                    "salience": salience(importance, _created(by)),
                },
                "$push": {
                    "took_in": {"$each": [gone_id], "$slice": -MOST_TAKEN_IN},
                    # Before its own ids, so that those are cut last.
                    "seen": {"$each": list(gone.get("seen", ())), "$position": 0, "$slice": -MOST_SEEN},
                },
            },
        )

    async def undo_replacement(self, user_id: str, gone_id: str, by_id: str, run_id: str) -> bool:
        """Undo a replacement of this run. False if it is no longer replaced so; also False if an equal memory exists
        since: then it is merged into that one."""
        query = {"_id": gone_id, "user_id": user_id, "status": {"$in": [MERGED, SUPERSEDED]}}
        query |= {"superseded_by": by_id, "replaced_in": run_id}
        found = await self.database[COLLECTION].find_one(query, {"hash": 1})
        if found is None:
            return False
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

    async def compared(self, user_id: str, memory_ids: Sequence[str]) -> None:
        """Mark these memories as compared."""
        await self._set_each(user_id, memory_ids, {"consolidated": True})

    async def note_asked(self, user_id: str, memory_ids: Sequence[str], now: float) -> None:
        """Record that the user was asked whether these are still true."""
        await self._set_each(user_id, memory_ids, {"asked_at": now})

    async def _set_each(self, user_id: str, memory_ids: Sequence[str], changes: Document) -> None:
        for at in range(0, len(memory_ids), HELD_AT_ONCE):
            query = {"user_id": user_id, "_id": {"$in": list(memory_ids[at : at + HELD_AT_ONCE])}}
            await self.database[COLLECTION].update_many(query, {"$set": changes})


_COMPARED = dict.fromkeys(
    (
        *("content", "type", "trust", "count", "status", "created", "created_at", "last_seen", "importance"),
        *("valid_from", "valid_until", "sensitive", "consolidated", "asked_at", "content_embedding"),
    ),
    1,
)


def _tombstone(document: Document) -> Tombstone:
    return Tombstone(
        id=document["_id"],
        user_id=document["user_id"],
        hashes=frozenset(document.get("hashes", ())),
        signature=bytes.fromhex(document.get("signature", "")),
        dimensions=document.get("dimensions", 0),
        message_ids=frozenset(document.get("seen", ())),
    )


def _gone(document: Document) -> Gone:
    said = (*document.get("source", {}).get("message_ids", ()), *document.get("seen", ()))
    texts = {name: document.get(name, "") for name in ("content", "quote", "question", "hash")}
    return Gone(id=document["_id"], message_ids=tuple(dict.fromkeys(said)), **texts)


def _float32(stored: Any) -> bytes:
    if isinstance(stored, bytes):
        return bytes(stored[2:]) if stored[:1] == BinaryVectorDtype.FLOAT32.value else b""
    return array("f", stored or ()).tobytes()


def _created(document: Document) -> float:
    if "created" in document:
        return document["created"]
    return document["created_at"].timestamp() if document.get("created_at") else 0.0


def _score(match: Match, now: float) -> Score:
    return Score(
        words=match.place.words,
        meaning=match.place.meaning,
        salience=round(present(match.document.get("salience", 0.0), now), 4),
        total=round(match.place.total, 4),
    )


def nearest(documents: Sequence[Document], words: str, vector: Sequence[float], limit: int) -> list[Near]:
    """The best of these documents by words and by meaning, with their exact cosines."""
    known = [Known.of(each.get("content") or "", each.get("content_embedding")) for each in documents]
    cosines = cosines_of([each.get("content_embedding") for each in documents], vector)
    places = fuse_ranks(rank_ids(range(len(documents)), known, words, vector))
    best = sorted(places, key=lambda at: -places[at].total)[:limit]
    return [Near(memory, cosines[at] or 0.0) for at in best for memory in _memories([documents[at]])]


def _memories(documents: Iterable[Document]) -> list[Memory]:
    """Parse the documents and skip invalid ones: one bad document must not fail every turn of its user."""
    read = []
    for document in documents:
        fields = {name: value for name, value in document.items() if name in Memory.model_fields}
        with suppress(ValidationError):
            read.append(Memory.model_validate({**fields, "id": str(document["_id"])}))
    return read
