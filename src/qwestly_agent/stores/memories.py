"""`user_memories`: what is remembered, each with where it came from."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.memory.model import Memory
from qwestly_agent.stores.search import Document, Searchable

COLLECTION = "user_memories"
ACTIVE = "active"
_WITHOUT_VECTORS = {"content_embedding": 0}


@dataclass(frozen=True)
class Memories:
    database: AsyncDatabase[Document]
    searchable: Searchable

    @classmethod
    def of(cls, database: AsyncDatabase[Document]) -> "Memories":
        index = Searchable(database[COLLECTION], "user_memories_vector_index", "content_embedding", "content")
        return cls(database, index)

    async def most_salient(self, user_id: str, limit: int) -> list[Memory]:
        """The best now, best first: one index scan that reads no vectors."""
        found = self.database[COLLECTION].find({"user_id": user_id, "status": ACTIVE}, _WITHOUT_VECTORS)
        return _memories(await found.sort("salience", -1).limit(limit).to_list())

    async def search(self, user_id: str, words: str, vector: Sequence[float] | None, limit: int) -> list[Memory]:
        found = await self.searchable.nearest({"user_id": user_id, "status": ACTIVE}, words, vector, limit)
        return _memories([document for document, _ in found])

    async def last_withdrawn(self, user_id: str) -> float | None:
        """When a memory of this user was last forgotten, corrected or superseded, in seconds since the epoch."""
        query = {"user_id": user_id, "withdrawn_at": {"$gt": 0}}
        found = self.database[COLLECTION].find(query, {"withdrawn_at": 1}).sort("withdrawn_at", -1).limit(1)
        newest = await found.to_list()
        return newest[0]["withdrawn_at"] if newest else None


def _memories(documents: Sequence[Document]) -> list[Memory]:
    """Those that can be read: one that cannot must not cost its user every turn."""
    read = []
    for document in documents:
        with suppress(ValidationError):
            read.append(Memory.model_validate({**document, "id": str(document["_id"])}))
    return read
