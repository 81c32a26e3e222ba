"""`agent_extractions`: notes extracted from a batch of messages, until they are stored as memories.

A batch's id is derived from its start, so that a retry after a crash finds the earlier results and does not call a
model again. It holds user text only until the memories are stored.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.platform.collection import ALL_ACTIONS, Document, Expires, MongoCollection, index
from qwestly_agent.platform.records import Records
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


class Extractions(Records[Batch]):
    collection, model, missing = COLLECTION, Batch, "There is no such extraction."
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
        """Delete batches of one conversation, or of all, that are not stored yet. Stored ones are kept."""
        query: Document = {"user_id": user_id, "status": {"$in": ["found", "judged", "decided"]}}
        if conversation_id is not None:
            query["conversation_id"] = conversation_id
        await self.database[COLLECTION].delete_many(query)

    @classmethod
    def to_document(cls, record: Batch) -> Document:
        return {**super().to_document(record), "vectors": [to_binary(vector) for vector in record.vectors]}

    @classmethod
    def from_document(cls, document: Document) -> Batch:
        return super().from_document({**document, "vectors": [to_floats(each) for each in document["vectors"]]})
