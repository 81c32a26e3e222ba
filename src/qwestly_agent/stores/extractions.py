"""`agent_extractions`: notes extracted from a batch of messages, until they are stored as memories.

A batch's id is derived from its start, so that a retry after a crash finds the earlier results and does not call a
model again. It holds user text only until the memories are stored.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.platform.collection import ALL_ACTIONS, Expires, MongoCollection, index
from qwestly_agent.platform.outbox import copy_after_write, with_events
from qwestly_agent.platform.store import Document, Store
from qwestly_agent.stores.ranks import to_binary, to_floats

RETENTION = timedelta(days=30)
COLLECTION = MongoCollection(
    "agent_extractions",
    Expires(RETENTION),
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


class Extractions(Store):
    async def add(self, batch: Batch) -> Batch:
        """Insert the batch. Returns the stored one if it exists already."""
        expires_at = to_datetime(batch.created_at) + RETENTION
        try:
            await self.database[COLLECTION].insert_one(
                {**_document(batch), "_id": batch.id, "user_id": batch.user_id, "expires_at": expires_at}
            )
        except DuplicateKeyError:
            return await self.get(batch.user_id, batch.id)
        return batch

    async def find(self, user_id: str, batch_id: str) -> Batch | None:
        found = await self.database[COLLECTION].find_one({"_id": batch_id, "user_id": user_id})
        return _batch(found) if found else None

    async def get(self, user_id: str, batch_id: str) -> Batch:
        """Get a batch. Raises `NotFound`."""
        found = await self.find(user_id, batch_id)
        if found is None:
            raise NotFound("There is no such extraction.")
        return found

    async def store_judged(self, user_id: str, batch_id: str, found: Any, dropped: Mapping[str, int]) -> None:
        """Store the notes after the judge has checked them or was unavailable."""
        changes = {"status": "judged", "found": json.dumps(found, ensure_ascii=False), "dropped": dict(dropped)}
        await self._set(user_id, batch_id, "found", changes)

    async def store_decisions(
        self,
        user_id: str,
        batch_id: str,
        decisions: Any,
        vectors: Sequence[Sequence[float]],
        dropped: Mapping[str, int],
    ) -> None:
        changes = {
            "status": "decided",
            "decisions": json.dumps(decisions, ensure_ascii=False),
            "vectors": [to_binary(vector) for vector in vectors],
            "dropped": dict(dropped),
        }
        await self._set(user_id, batch_id, "judged", changes)

    async def mark_stored(
        self, user_id: str, batch_id: str, proposed: Sequence[str], tries: int, events: Sequence[ActivityEvent] = ()
    ) -> None:
        """Mark the batch as stored, and remove the user's text from it."""
        empty = json.dumps([])
        changes = {
            "status": "stored",
            "found": empty,
            "decisions": empty,
            "vectors": [],
            "proposed": list(proposed),
            "tries": tries,
        }
        await self._set(user_id, batch_id, "decided", changes, events)
        if events:
            await copy_after_write(self.database, COLLECTION, user_id, batch_id)

    async def delete_unstored(self, user_id: str, conversation_id: str | None = None) -> None:
        """Delete batches of one conversation, or of all, that are not stored yet. Stored ones are kept."""
        query: Document = {"user_id": user_id, "status": {"$in": ["found", "judged", "decided"]}}
        if conversation_id is not None:
            query["conversation_id"] = conversation_id
        await self.database[COLLECTION].delete_many(query)

    async def _set(
        self, user_id: str, batch_id: str, before: BatchStatus, changes: Document, events: Sequence[ActivityEvent] = ()
    ) -> None:
        query = {"_id": batch_id, "user_id": user_id, "status": before}
        await self.database[COLLECTION].update_one(query, with_events({"$set": changes}, *events))


def _document(batch: Batch) -> Document:
    nested = {name: json.dumps(getattr(batch, name), ensure_ascii=False) for name in ("found", "decisions")}
    vectors = [to_binary(vector) for vector in batch.vectors]
    return {**batch.model_dump(exclude={"id"}), **nested, "vectors": vectors}


def _batch(document: Document) -> Batch:
    fields = {name: value for name, value in document.items() if name in Batch.model_fields}
    return Batch.model_validate(
        {
            **fields,
            "id": document["_id"],
            "found": json.loads(document["found"]),
            "decisions": json.loads(document["decisions"]),
            "vectors": [tuple(to_floats(vector)) for vector in document["vectors"]],
        }
    )
