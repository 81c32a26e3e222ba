"""How far memory extraction has read each conversation (the *watermark*), and when it is due: fields of
`agent_conversations`."""

from dataclasses import dataclass

from qwestly_agent.base.errors import NotFound
from qwestly_agent.platform.collection import Document, Store
from qwestly_agent.stores.conversations import COLLECTION, key_query


@dataclass(frozen=True)
class ExtractionProgress:
    """Progress of memory extraction in a conversation."""

    read_to: int
    """`seq` of the last message that was read (the watermark)."""
    last_seq: int
    due_at: float
    attempts: int
    """Failed attempts since the last success."""
    running: float
    """Expiry of the lease, in seconds since the epoch."""


class Watermarks(Store):
    async def schedule_now(self, user_id: str, conversation_id: str, now: float) -> None:
        """Schedule extraction now, because the conversation is over. Raises `NotFound`."""
        changed = await self.database[COLLECTION].update_one(
            key_query(user_id, conversation_id), {"$set": {"extract_at": now}}
        )
        if not changed.matched_count:
            raise NotFound("There is no such conversation.")

    async def schedule_at(self, user_id: str, conversation_id: str, due_at: float) -> None:
        """Schedule extraction at `due_at`, unless it is already scheduled."""
        query = {**key_query(user_id, conversation_id), "extract_at": {"$in": [None, 0, 0.0]}}
        await self.database[COLLECTION].update_one(query, {"$set": {"extract_at": due_at}})

    async def reserve(self, user_id: str, conversation_id: str, now: float, until: float) -> bool:
        """Reserve the conversation for one extraction until this time. Returns False if it is not due."""
        query = {
            **key_query(user_id, conversation_id),
            "extract_at": {"$gt": 0, "$lte": now},
            "lease_until": {"$lte": now},
        }
        picked = await self.database[COLLECTION].update_one(query, {"$set": {"extract_at": until}})
        return picked.matched_count == 1

    async def get(self, user_id: str, conversation_id: str) -> ExtractionProgress:
        """Return the progress of extraction. Raises `NotFound`."""
        document = await self.database[COLLECTION].find_one(key_query(user_id, conversation_id))
        if document is None:
            raise NotFound("There is no such conversation.")
        return ExtractionProgress(
            read_to=document.get("extracted_seq", 0),
            last_seq=document.get("last_seq", 0),
            due_at=document.get("extract_at", 0.0),
            attempts=document.get("extract_attempts", 0),
            running=document.get("lease_until", 0.0),
        )

    async def advance(self, user_id: str, conversation_id: str, read_from: int, read_to: int, now: float) -> None:
        """Advance the watermark (idempotent). The conversation is unscheduled if it is fully read and idle."""
        here = key_query(user_id, conversation_id)
        # `$or` cannot be used: combined with an `_id`, the laptop's database updates the wrong document.
        start: Document = {"extracted_seq": read_from or {"$in": [None, 0]}}
        moved = {"$set": {"extracted_seq": read_to, "extract_attempts": 0}, "$unset": {"extract_set_aside": ""}}
        await self.database[COLLECTION].update_one({**here, **start}, moved)
        query = {"extracted_seq": {"$gte": read_to}, "last_seq": {"$lte": read_to}, "lease_until": {"$lte": now}}
        left = await self.database[COLLECTION].update_one({**here, **query}, {"$set": {"extract_at": 0.0}})
        if not left.matched_count:
            more = {**here, "extracted_seq": {"$gte": read_to}, "last_seq": {"$gt": read_to}}
            await self.database[COLLECTION].update_one(more, {"$set": {"extract_at": now}})

    async def retry_later(
        self, user_id: str, conversation_id: str, due_at: float, attempts: int, quarantined: Document | None = None
    ) -> None:
        """Retry at `due_at` (0: not before `read_again`), after this number of failures. `quarantined` is the reason,
        if any."""
        changes: Document = {"extract_at": due_at, "extract_attempts": attempts}
        if quarantined:
            changes["extract_set_aside"] = quarantined
        await self.database[COLLECTION].update_one(key_query(user_id, conversation_id), {"$set": changes})

    async def read_again(self, user_id: str, conversation_id: str, now: float) -> None:
        """Schedule a quarantined conversation now and reset its attempts. Raises `NotFound`."""
        changed = await self.database[COLLECTION].update_one(
            key_query(user_id, conversation_id),
            {"$set": {"extract_at": now, "extract_attempts": 0}, "$unset": {"extract_set_aside": ""}},
        )
        if not changed.matched_count:
            raise NotFound("There is no such conversation.")

    async def may_ask_again(self, user_id: str, conversation_id: str, batch_id: str) -> bool:
        """True unless an earlier batch of this conversation asked about something close to a tombstone."""
        query = {**key_query(user_id, conversation_id), "asked_again_by": {"$nin": [None, batch_id]}}
        return await self.database[COLLECTION].find_one(query, {"_id": 1}) is None

    async def mark_asked_again(self, user_id: str, conversation_id: str, batch_id: str) -> None:
        """Record that this batch asks about something close to a tombstone; only one such question is allowed per
        conversation."""
        changes = {"$set": {"asked_again_by": batch_id}}
        await self.database[COLLECTION].update_one(key_query(user_id, conversation_id), changes)
