"""Tombstones in `user_memories`: memories that were forgotten or are being forgotten."""

from collections.abc import Collection
from dataclasses import dataclass

from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.tombstone import Tombstone, hashes_of, signature_of
from qwestly_agent.stores.activity import OUTBOX, copy_after_write, with_events
from qwestly_agent.stores.memory_documents import COLLECTION, FORGOTTEN, READABLE, WITHOUT_VECTORS
from qwestly_agent.stores.ranks import to_floats
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.store import Store

_TOMBSTONE_FIELDS = (
    *("user_id", "status", "key", "hashes", "signature", "dimensions", "seen"),
    *("forgotten_at", "withdrawn_at"),
    *("uncopied_since", *OUTBOX),
)
"""All fields of a tombstone, including its outbox."""


@dataclass(frozen=True)
class PendingErasure:
    """A memory that is being forgotten. Its text is kept until it is removed everywhere else."""

    id: str
    content: str
    quote: str
    question: str
    hash: str
    message_ids: tuple[str, ...]
    """Ids of all messages that stated it."""


class Tombstones(Store):
    async def list_all(self, user_id: str) -> list[Tombstone]:
        """List the tombstones of everything that this user has forgotten."""
        fields = {"hashes": 1, "signature": 1, "dimensions": 1, "seen": 1, "user_id": 1}
        found = self.database[COLLECTION].find({"user_id": user_id, "status": FORGOTTEN}, fields)
        return [_tombstone(document) async for document in found]

    async def forgotten_since(self, user_id: str, moment: float) -> bool:
        """True if anything was forgotten since `moment` (seconds since the epoch)."""
        query = {"user_id": user_id, "withdrawn_at": {"$gte": moment}, "status": FORGOTTEN}
        return await self.database[COLLECTION].find_one(query, {"_id": 1}) is not None

    async def forget(self, user_id: str, memory_ids: Collection[str], now: float) -> None:
        """Turn memories that are used nowhere else into tombstones."""
        await self.begin(user_id, memory_ids, now)
        await self.end(user_id, memory_ids, now)

    async def begin(
        self, user_id: str, memory_ids: Collection[str], now: float, event: ActivityEvent | None = None
    ) -> dict[str, str]:
        """Hide these memories; their text is kept until it is removed elsewhere. Returns by id the memory that had
        replaced each of them. `event` is written with the first one."""
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
            change = with_events({"$set": changes, "$unset": {"content_embedding": ""}}, *([event] if event else ()))
            before = await self.database[COLLECTION].find_one_and_update(readable, change, {"superseded_by": 1})
            if before and event:
                event = None
                await copy_after_write(self.database, COLLECTION, user_id, memory_id)
            if before and before.get("superseded_by"):
                replaced[memory_id] = before["superseded_by"]
        return replaced

    async def list_pending(self, user_id: str) -> list[PendingErasure]:
        """List the memories that are being forgotten, including those left by a process that died."""
        query = {"user_id": user_id, "status": FORGOTTEN, "content": {"$exists": True}}
        found = self.database[COLLECTION].find(query, WITHOUT_VECTORS)
        return [_pending_erasure(document) async for document in found]

    async def end(self, user_id: str, memory_ids: Collection[str], now: float) -> None:
        """Turn these memories into tombstones. `now` is recorded, since prompts made before may contain them."""
        query = {"user_id": user_id, "_id": {"$in": list(memory_ids)}, "status": FORGOTTEN}
        async for found in self.database[COLLECTION].find(query, dict.fromkeys(_TOMBSTONE_FIELDS, 1)):
            left = {**found, "withdrawn_at": now}
            await self.database[COLLECTION].replace_one({**query, "_id": found["_id"]}, left)

    async def replace_quote(self, user_id: str, memory_id: str, quote: str, question: str, context: str) -> None:
        """Replace quote, question and context with versions without the forgotten parts."""
        query = {"_id": memory_id, "user_id": user_id, "status": {"$in": list(READABLE)}}
        changes = {"quote": quote, "question": question, "context": context}
        await self.database[COLLECTION].update_one(query, {"$set": changes})

    async def unforget(self, user_id: str, tombstone_ids: Collection[str]) -> None:
        """Delete tombstones, because the user wants the memories back."""
        query = {"user_id": user_id, "_id": {"$in": list(tombstone_ids)}, "status": FORGOTTEN}
        await self.database[COLLECTION].delete_many(query)


def _tombstone(document: Document) -> Tombstone:
    return Tombstone(
        id=document["_id"],
        user_id=document["user_id"],
        hashes=frozenset(document.get("hashes", ())),
        signature=bytes.fromhex(document.get("signature", "")),
        dimensions=document.get("dimensions", 0),
        message_ids=frozenset(document.get("seen", ())),
    )


def _pending_erasure(document: Document) -> PendingErasure:
    said = (*document.get("source", {}).get("message_ids", ()), *document.get("seen", ()))
    texts = {name: document.get(name, "") for name in ("content", "quote", "question", "hash")}
    return PendingErasure(id=document["_id"], message_ids=tuple(dict.fromkeys(said)), **texts)
