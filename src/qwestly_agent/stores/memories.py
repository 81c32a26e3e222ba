"""`user_memories`: one document per memory, with its source and status, and tombstones of forgotten ones.

`key` is unique per user. While a memory is active or waits for approval or for the judge, its key is the hash of its
content, so that nothing is remembered twice; afterwards its key is its id. A forgotten memory is kept as a tombstone
without text (`domain/memory.py`).
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from pydantic import ValidationError
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.memory import (
    FoundMemory,
    Memory,
    Score,
    TellingWords,
    Tombstone,
    hashes_of,
    present,
    salience,
    signature_of,
    stem_hashes,
)
from qwestly_agent.platform.collection import (
    ALL_ACTIONS,
    Document,
    MongoCollection,
    Permanent,
    Store,
    across_users,
    index,
)
from qwestly_agent.platform.outbox import OUTBOX, copy_after_write, outbox_fields, with_events
from qwestly_agent.stores.search import (
    CachedText,
    Match,
    Searchable,
    cosines_of,
    join,
    score_ids,
    to_binary,
    to_floats,
)
from qwestly_agent.text.language import indexed_words, query_words

COLLECTION = MongoCollection(
    "user_memories",
    Permanent("A memory holds until its user forgets it; what was forgotten is not learnt again."),
    index("most_salient", "user_id", "status", "-salience"),
    index("withdrawn", "user_id", "-withdrawn_at"),
    # Unique, so that the same content is stored only once, even by two concurrent processes. A memory has a key as long
    # as its content must be unique; the partial filter excludes memories from before keys existed.
    index("key", "user_id", "key", unique=True, partialFilterExpression={"key": {"$type": "string"}}),
    index("newest", "user_id", "-created"),
    index("superseded_by", "user_id", "superseded_by"),
    # Memories that have not been consolidated yet.
    index("users_to_consolidate", "consolidated", "status", "user_id"),
    index("consolidated", "consolidated", "status", "created"),
    events=("memory.remembered", "memory.corrected", "memory.undone", "memory.forgotten"),
    reader=ALL_ACTIONS,
    holds="memories with their quotes; for forgotten ones hashes and a signature, no text",
)
ACTIVE, PROPOSED, UNCHECKED = "active", "proposed", "unchecked"
SUPERSEDED, MERGED, FORGOTTEN = "superseded", "merged", "forgotten"
UNIQUE_STATUSES = (ACTIVE, PROPOSED, UNCHECKED)
"""No two memories with these statuses have equal content."""
READABLE = (*UNIQUE_STATUSES, SUPERSEDED, MERGED)
MOST_MESSAGE_IDS = 200
"""Maximum number of message ids stored per memory; they prevent counting a message twice."""
WITHOUT_VECTORS = {"content_embedding": 0}


def created_of(document: Document) -> float:
    if "created" in document:
        return document["created"]
    return document["created_at"].timestamp() if document.get("created_at") else 0.0


def memories_of(documents: Iterable[Document]) -> list[Memory]:
    """Parse the documents, skipping invalid ones, because one bad document must not break every turn of its user."""
    read = []
    for document in documents:
        fields = {name: value for name, value in document.items() if name in Memory.model_fields}
        with suppress(ValidationError):
            read.append(Memory.model_validate({**fields, "id": str(document["_id"])}))
    return read


def score_of(match: Match, now: float) -> Score:
    return Score(
        words=match.place.words,
        meaning=match.place.meaning,
        salience=round(present(match.document.get("salience", 0.0), now), 4),
        total=round(match.place.total, 4),
    )


# --- tombstones -------------------------------------------------------------------------------------------------------
# Memories that are being forgotten or already were.


_TOMBSTONE_FIELDS = (
    *("user_id", "status", "key", "hashes", "signature", "dimensions", "stems", "seen"),
    *("forgotten_at", "withdrawn_at"),
    *("uncopied_since", *OUTBOX),
)
"""All fields of a tombstone, including its outbox."""


@dataclass(frozen=True)
class PendingErasure:
    """A memory that is being forgotten. Its text is kept until it has been removed everywhere else."""

    id: str
    content: str
    quote: str
    question: str
    hash: str
    message_ids: tuple[str, ...]
    """Ids of all messages that stated the memory."""


class Tombstones(Store):
    async def list_all(self, user_id: str) -> list[Tombstone]:
        """List the tombstones of everything that this user has had forgotten."""
        fields = {"hashes": 1, "signature": 1, "dimensions": 1, "stems": 1, "seen": 1, "user_id": 1}
        found = self.database[COLLECTION].find({"user_id": user_id, "status": FORGOTTEN}, fields)
        return [_tombstone(document) async for document in found]

    async def forgotten_since(self, user_id: str, moment: float) -> bool:
        """True if anything was forgotten since `moment` (seconds since the epoch), or is being forgotten: until it is
        gone everywhere else, somebody may have read it after it was withdrawn here."""
        since = {"withdrawn_at": {"$gte": moment}}
        query = {"user_id": user_id, "status": FORGOTTEN, "$or": [since, {"content": {"$exists": True}}]}
        return await self.database[COLLECTION].find_one(query, {"_id": 1}) is not None

    async def last_withdrawn_at(self, user_id: str) -> float | None:
        """Return when a memory of this user was last forgotten, corrected or superseded, in seconds since the epoch."""
        query = {"user_id": user_id, "withdrawn_at": {"$gt": 0}}
        found = self.database[COLLECTION].find(query, {"withdrawn_at": 1}).sort("withdrawn_at", -1).limit(1)
        newest = await found.to_list()
        return newest[0]["withdrawn_at"] if newest else None

    async def forget(self, user_id: str, memory_ids: Collection[str], now: float) -> None:
        """Turn memories that are used nowhere else into tombstones."""
        await self.begin(user_id, memory_ids, now)
        await self.end(user_id, memory_ids, now)

    async def prepare(self, user_id: str, memory_ids: Collection[str]) -> dict[str, Document]:
        """Return, by id, the tombstones that `begin` would create for these memories: hashes and message ids."""
        query = {"_id": {"$in": list(memory_ids)}, "user_id": user_id, "status": {"$in": list(READABLE)}}
        found = self.database[COLLECTION].find(query)
        return {each["_id"]: {**_remains(user_id, each), "seen": _message_ids(each)} async for each in found}

    async def put_back(self, user_id: str, memory_id: str, tombstone: Document, now: float) -> bool:
        """Insert the tombstone of a memory that is missing in a restored database, with the state "being forgotten".
        Returns False if the memory exists."""
        hidden = {"status": FORGOTTEN, "key": memory_id, "forgotten_at": now, "withdrawn_at": now, "content": ""}
        document = {"_id": memory_id, "user_id": user_id, **hidden, **tombstone}
        try:
            await self.database[COLLECTION].insert_one(document)
        except DuplicateKeyError:
            return False
        return True

    async def begin(
        self, user_id: str, memory_ids: Collection[str], now: float, event: ActivityEvent | None = None
    ) -> dict[str, str]:
        """Hide these memories; their text is kept until it has been removed elsewhere. Returns, by id, the memory that
        had replaced each of them. `event` is written with the first one."""
        replaced: dict[str, str] = {}
        withdrawn_at = await self._next_withdrawal(user_id, now)
        for memory_id in memory_ids:
            readable = {"_id": memory_id, "user_id": user_id, "status": {"$in": list(READABLE)}}
            found = await self.database[COLLECTION].find_one(readable)
            if found is None:
                continue
            hidden = {"status": FORGOTTEN, "key": memory_id, "forgotten_at": now, "withdrawn_at": withdrawn_at}
            changes = {**hidden, **_remains(user_id, found)}
            change = with_events({"$set": changes, "$unset": {"content_embedding": ""}}, *([event] if event else ()))
            before = await self.database[COLLECTION].find_one_and_update(readable, change, {"superseded_by": 1})
            if before and event:
                event = None
                await copy_after_write(self.database, COLLECTION, user_id, memory_id)
            if before and before.get("superseded_by"):
                replaced[memory_id] = before["superseded_by"]
        return replaced

    async def list_pending(self, user_id: str) -> list[PendingErasure]:
        """List the memories that are being forgotten, including those left behind by a dead process."""
        query = {"user_id": user_id, "status": FORGOTTEN, "content": {"$exists": True}}
        found = self.database[COLLECTION].find(query, WITHOUT_VECTORS)
        return [_pending_erasure(document) async for document in found]

    async def end(self, user_id: str, memory_ids: Collection[str], now: float) -> None:
        """Turn these memories into tombstones. `now` is recorded, because prompts created earlier may contain them."""
        query = {"user_id": user_id, "_id": {"$in": list(memory_ids)}, "status": FORGOTTEN}
        withdrawn_at = await self._next_withdrawal(user_id, now)
        async for found in self.database[COLLECTION].find(query, dict.fromkeys(_TOMBSTONE_FIELDS, 1)):
            left = {**found, "withdrawn_at": withdrawn_at}
            await self.database[COLLECTION].replace_one({**query, "_id": found["_id"]}, left)

    async def _next_withdrawal(self, user_id: str, now: float) -> float:
        """Return a time after the user's last withdrawal, even if this process's clock is behind: turns compare it with
        the last one that they had read."""
        last = await self.last_withdrawn_at(user_id)
        return now if last is None or last < now else round(last + 0.001, 3)

    async def replace_quote(self, user_id: str, memory_id: str, quote: str, question: str, context: str) -> None:
        """Replace quote, question and context with versions that lack the forgotten parts."""
        query = {"_id": memory_id, "user_id": user_id, "status": {"$in": list(READABLE)}}
        changes = {"quote": quote, "question": question, "context": context}
        await self.database[COLLECTION].update_one(query, {"$set": changes})

    async def unforget(self, user_id: str, tombstone_ids: Collection[str]) -> None:
        """Delete tombstones, because the user wants the memories back."""
        query = {"user_id": user_id, "_id": {"$in": list(tombstone_ids)}, "status": FORGOTTEN}
        await self.database[COLLECTION].delete_many(query)


def _remains(user_id: str, document: Document) -> Document:
    """Return the data that a tombstone keeps about a memory's text and vector."""
    vector = to_floats(document["content_embedding"]) if document.get("content_embedding") else ()
    texts = (document.get("content", ""), document.get("quote", ""))
    return {
        "hashes": sorted(hashes_of(user_id, *texts)),
        "signature": signature_of(vector).hex(),
        "dimensions": len(vector),
        "stems": sorted(stem_hashes(user_id, *texts)),
    }


def _message_ids(document: Document) -> list[str]:
    """Return the ids of all messages that stated a memory."""
    return list(dict.fromkeys((*document.get("source", {}).get("message_ids", ()), *document.get("seen", ()))))


def _tombstone(document: Document) -> Tombstone:
    return Tombstone(
        id=document["_id"],
        user_id=document["user_id"],
        hashes=frozenset(document.get("hashes", ())),
        signature=bytes.fromhex(document.get("signature", "")),
        dimensions=document.get("dimensions", 0),
        message_ids=frozenset(document.get("seen", ())),
        stems=frozenset(document.get("stems", ())),
    )


def _pending_erasure(document: Document) -> PendingErasure:
    texts = {name: document.get(name, "") for name in ("content", "quote", "question", "hash")}
    return PendingErasure(id=document["_id"], message_ids=tuple(_message_ids(document)), **texts)


# --- memories ---------------------------------------------------------------------------------------------------------


RECENT = 50
"""Number of newest memories compared in this process, because the index lags behind writes."""


@dataclass(frozen=True)
class NearMemory:
    memory: Memory
    cosine: float


@dataclass(frozen=True)
class Memories(Store):
    searchable: Searchable

    @classmethod
    def of(cls, database: AsyncDatabase[Document]) -> Self:
        searchable = Searchable(
            database[COLLECTION],
            "user_memories_vector_index",
            "content_embedding",
            "content",
            stems_field="words",
            words_index="user_memories_search_index",
            preferred_by="salience",
        )
        return cls(database, searchable)

    @property
    def tombstones(self) -> Tombstones:
        return Tombstones(self.database)

    # --- reading ------------------------------------------------------------------------------------------------------

    async def most_salient(self, user_id: str, limit: int) -> list[Memory]:
        """List the active memories with the highest salience, best first, with one index scan that reads no vectors."""
        found = self.database[COLLECTION].find({"user_id": user_id, "status": ACTIVE}, WITHOUT_VECTORS)
        return memories_of(await found.sort("salience", -1).limit(limit).to_list())

    async def get(self, user_id: str, memory_id: str) -> Memory:
        """Get a memory. Raises `NotFound`, also if it was forgotten."""
        query = {"_id": memory_id, "user_id": user_id, "status": {"$in": list(READABLE)}}
        found = memories_of(await self.database[COLLECTION].find(query, WITHOUT_VECTORS).to_list())
        if not found:
            raise NotFound("There is no such memory.")
        return found[0]

    async def get_many(self, user_id: str, memory_ids: Collection[str]) -> list[Memory]:
        """List the memories with these ids, in the order of the ids, excluding forgotten and invalid ones."""
        query = {"_id": {"$in": list(memory_ids)}, "user_id": user_id, "status": {"$in": list(READABLE)}}
        found = memories_of(await self.database[COLLECTION].find(query, WITHOUT_VECTORS).to_list())
        places = {memory_id: place for place, memory_id in enumerate(memory_ids)}
        return sorted(found, key=lambda each: places[each.id])

    async def newest(self, user_id: str, limit: int, skip: int = 0, status: str = ACTIVE) -> list[Memory]:
        """List memories, newest first."""
        found = self.database[COLLECTION].find({"user_id": user_id, "status": status}, WITHOUT_VECTORS)
        return memories_of(await found.sort([("created", -1), ("_id", 1)]).skip(skip).limit(limit).to_list())

    async def iterate(self, user_id: str) -> AsyncIterator[Memory]:
        """Yield all memories in no particular order, excluding forgotten and invalid ones."""
        query = {"user_id": user_id, "status": {"$in": list(READABLE)}}
        async for document in self.database[COLLECTION].find(query, WITHOUT_VECTORS):
            for memory in memories_of([document]):
                yield memory

    async def list_replaced_by(self, user_id: str, memory_ids: Collection[str]) -> list[Memory]:
        """List the memories that these memories superseded or absorbed."""
        query = {
            "user_id": user_id,
            "superseded_by": {"$in": list(memory_ids)},
            "status": {"$in": [SUPERSEDED, MERGED]},
        }
        return memories_of(await self.database[COLLECTION].find(query, WITHOUT_VECTORS).to_list())

    async def list_replacements(self, user_id: str, hash: str) -> list[Memory]:
        """List the memories that superseded a memory with this content."""
        query = {"user_id": user_id, "hash": hash, "status": SUPERSEDED}
        found = await self.database[COLLECTION].find(query, {"superseded_by": 1}).to_list()
        return await self.get_many(user_id, [each["superseded_by"] for each in found]) if found else []

    async def search(
        self, user_id: str, words: str, vector: Sequence[float] | None, limit: int, now: float
    ) -> list[FoundMemory]:
        """Rank active memories by words and by meaning. Without a vector, only memories that contain one of the words
        are found."""
        found = await self.searchable.find_nearest({"user_id": user_id, "status": ACTIVE}, words, vector, limit)
        return [
            FoundMemory(memory=memory, score=score_of(match, now))
            for match in found
            for memory in memories_of([match.document])
        ]

    async def find_near(
        self, user_id: str, asked: Sequence[tuple[str, Sequence[float] | None]], limit: int
    ) -> list[list[NearMemory]]:
        """Return for each text (with its vector, if any) the nearest active or proposed memories by words and by
        meaning. The latest writes are compared too, even if they are not in the index yet."""
        query = {"user_id": user_id, "status": {"$in": [ACTIVE, PROPOSED]}}
        newest = self.database[COLLECTION].find(query).sort("created", -1).limit(RECENT)
        found, recent = await asyncio.gather(
            self.searchable.find_nearest_to_each(query, asked, limit), newest.to_list()
        )
        wanted = {match.document["_id"] for matches in found for match in matches} - {each["_id"] for each in recent}
        rest = self.database[COLLECTION].find({**query, "_id": {"$in": list(wanted)}})
        documents = [*recent, *(await rest.to_list() if wanted else ())]
        return [rank_nearest(documents, words, vector, limit) for words, vector in asked]

    async def list_without_vectors(self, user_id: str, limit: int) -> list[Memory]:
        """List memories that were written while no embedding was available."""
        query = {"user_id": user_id, "status": {"$in": list(UNIQUE_STATUSES)}, "content_embedding": None}
        return memories_of(await self.database[COLLECTION].find(query).limit(limit).to_list())

    async def set_vector(self, user_id: str, memory: Memory, vector: Sequence[float]) -> None:
        """Store a memory's vector, unless its content was changed or forgotten meanwhile."""
        query = {"_id": memory.id, "user_id": user_id, "content": memory.content, "content_embedding": None}
        change = {"content_embedding": to_binary(vector)}
        await self.database[COLLECTION].update_one({**query, "status": {"$in": list(READABLE)}}, {"$set": change})

    async def find_by_hashes(self, user_id: str, hashes: Collection[str]) -> dict[str, Memory]:
        """Return active or waiting memories, by content hash."""
        query = {"user_id": user_id, "key": {"$in": list(hashes)}, "status": {"$in": list(UNIQUE_STATUSES)}}
        found = await self.database[COLLECTION].find(query, WITHOUT_VECTORS).to_list()
        return {document["key"]: memory for document in found for memory in memories_of([document])}

    async def find_lineage(
        self, user_id: str, memory_ids: Collection[str], hashes: Collection[str] = ()
    ) -> list[Memory]:
        """Return these memories and all that must be forgotten with them: those merged into or superseded by them, the
        ones that they were merged into, those with the same hash or one of `hashes`, and those whose content contains
        their text."""
        found: dict[str, Memory] = {}
        left, known, read = set(memory_ids), set(hashes), set[str]()
        while left or known:
            readable = {"user_id": user_id, "status": {"$in": list(READABLE)}}
            fields = WITHOUT_VECTORS
            documents = await self.database[COLLECTION].find({**readable, "_id": {"$in": list(left)}}, fields).to_list()
            same = self.database[COLLECTION].find({**readable, "hash": {"$in": list(known)}}, fields)
            documents = [each for each in (*documents, *await same.to_list()) if each["_id"] not in read]
            read |= {each["_id"] for each in documents}
            new = {each.id: each for each in memories_of(documents)}
            found |= new
            survivors = {each.superseded_by for each in new.values() if each.status == MERGED and each.superseded_by}
            replaced = {each.id for each in await self.list_replaced_by(user_id, [*left, *new])}
            left = (survivors | replaced) - read
            known = {each["hash"] for each in documents if each.get("hash")}
        told = TellingWords(words for each in found.values() for words in (each.quote, each.content))
        async for each in self.iterate(user_id):  # one memory's content may contain another's text
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
        events: Sequence[ActivityEvent] = (),
    ) -> bool:
        """Insert a memory. Returns False if it already exists, or if one with equal content does. `replaces` are the
        memories that it replaces once it is approved."""
        fields = memory.model_dump(exclude={"id", "created_at", "superseded_by", "superseded_at"})
        document = {
            **fields,
            "_id": memory.id,
            "user_id": user_id,
            "hash": hash,
            "key": hash,
            "seen": list(seen or memory.source.message_ids)[-MOST_MESSAGE_IDS:],
            "salience": salience(memory.importance, now),
            "created": now,
            "created_at": to_datetime(now),
            "words": indexed_words(memory.content),
            "content_embedding": to_binary(vector) if vector else None,
            "consolidated": False,
            **({"replaces": list(replaces)} if replaces else {}),
            **outbox_fields(*events),
        }
        try:
            await self.database[COLLECTION].insert_one(document)
        except DuplicateKeyError:
            return False
        if events:
            await copy_after_write(self.database, COLLECTION, user_id, memory.id)
        return True

    async def restore(self, user_id: str, memory_id: str, newer_id: str) -> bool:
        """Reactivate a memory that the newer one superseded or absorbed. Returns False if that is no longer so, or if
        an equal memory exists."""
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

    async def reinforce(
        self, user_id: str, memory_id: str, message_ids: Sequence[str], now: float, *, about_writing: bool = False
    ) -> bool:
        """Count a repetition of the memory in these messages, and set `about_writing` if it is now known to be True.
        Returns False if the messages were already counted, or if the memory is not active."""
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
                "$push": {"seen": {"$each": list(message_ids), "$slice": -MOST_MESSAGE_IDS}},
                **({"$set": {"about_writing": True}} if about_writing else {}),
            },
        )
        return changed.matched_count == 1

    async def supersede(
        self, user_id: str, older_id: str, newer_id: str, now: float, events: Sequence[ActivityEvent] = ()
    ) -> bool:
        """Mark the older memory as superseded by the newer one; its text is kept. Returns False if it was no longer
        active."""
        changes = {
            "status": SUPERSEDED,
            "superseded_by": newer_id,
            "superseded_at": now,
            "withdrawn_at": now,
            "key": older_id,
        }
        if await self._set(user_id, {"_id": older_id, "status": ACTIVE}, changes, events):
            return True
        # A memory that was never active is deleted, as it is not an earlier version.
        waiting = {"_id": older_id, "user_id": user_id, "status": {"$in": [PROPOSED, UNCHECKED]}}
        return (await self.database[COLLECTION].delete_one(waiting)).deleted_count == 1

    async def activate_proposed(self, user_id: str, memory_ids: Collection[str], now: float) -> None:
        """Activate approved memories (idempotent)."""
        query = {"user_id": user_id, "_id": {"$in": list(memory_ids)}}
        found = await self.database[COLLECTION].find(query, {"status": 1, "replaces": 1, "retells": 1}).to_list()
        for each in found:
            # Before the status is set, because the status marks all of this as done.
            for replaced in each.get("replaces") or ():
                await self.supersede(user_id, replaced, each["_id"], now)
            await self.tombstones.unforget(user_id, each.get("retells") or ())
            await self._set(user_id, {"_id": each["_id"], "status": PROPOSED}, {"status": ACTIVE})

    async def delete_proposed(self, user_id: str, memory_ids: Collection[str]) -> None:
        """Delete those of these memories that still wait for approval although nobody will decide any more."""
        query = {"user_id": user_id, "_id": {"$in": list(memory_ids)}, "status": PROPOSED}
        await self.database[COLLECTION].delete_many(query)

    async def discard(self, user_id: str, memory_ids: Collection[str]) -> None:
        """Delete memories that were just written, because their sources or the memories that they replace were
        forgotten meanwhile."""
        query = {"user_id": user_id, "_id": {"$in": list(memory_ids)}, "status": {"$in": list(UNIQUE_STATUSES)}}
        await self.database[COLLECTION].delete_many(query)

    @across_users
    async def list_users_without_stems(self) -> list[str]:
        """List the ids of users who have memories without stored stems."""
        query = {"content": {"$exists": True}, "words": {"$exists": False}}
        found = self.database[COLLECTION].find(query, {"_id": 0, "user_id": 1})
        return list({each["user_id"]: None async for each in found})

    async def store_missing_stems(self, user_id: str) -> int:
        """Store the stems of memories that were written before stems existed. Returns how many."""
        stored = 0
        query = {"user_id": user_id, "content": {"$exists": True}, "words": {"$exists": False}}
        async for each in self.database[COLLECTION].find(query, {"content": 1}):
            key = {"_id": each["_id"], "user_id": user_id, "content": each["content"]}
            change = {"$set": {"words": indexed_words(each["content"])}}
            stored += (await self.database[COLLECTION].update_one(key, change)).modified_count
        return stored

    async def _set(self, user_id: str, query: Document, changes: Document, events: Sequence[ActivityEvent] = ()) -> int:
        update = with_events({"$set": changes}, *events)
        changed = await self.database[COLLECTION].update_one({**query, "user_id": user_id}, update)
        if events and changed.matched_count:
            await copy_after_write(self.database, COLLECTION, user_id, query["_id"])
        return changed.matched_count


def rank_nearest(
    documents: Sequence[Document], words: str, vector: Sequence[float] | None, limit: int
) -> list[NearMemory]:
    """Return the best of these documents by words and by meaning, with their exact cosines."""
    stems = [each.get("words") or indexed_words(each.get("content") or "") for each in documents]
    known = [CachedText.of(text, each.get("content_embedding")) for text, each in zip(stems, documents, strict=True)]
    cosines = cosines_of([each.get("content_embedding") for each in documents], vector or ())
    places = join(*score_ids(range(len(documents)), known, query_words(words), vector))
    best = sorted(places, key=lambda at: -places[at].total)[:limit]
    return [NearMemory(memory, cosines[at] or 0.0) for at in best for memory in memories_of([documents[at]])]
