"""Tier 3: chunks of the user's own documents. The candidate app owns the collection and its index."""

from collections.abc import Sequence
from dataclasses import dataclass

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.stores.search import Document, Searchable

COLLECTION = "knowledge_chunk"


@dataclass(frozen=True)
class Passage:
    """A chunk of a document, with its source."""

    id: str
    title: str
    kind: str
    """The candidate app's value: `resume`, `transcript`, `document`."""
    text: str


@dataclass(frozen=True)
class Knowledge:
    searchable: Searchable

    @classmethod
    def of(cls, database: AsyncDatabase[Document]) -> "Knowledge":
        return cls(Searchable(database[COLLECTION], "knowledge_chunk_vector_index", "embedding", "text"))

    async def search(self, user_id: str, words: str, vector: Sequence[float] | None, limit: int) -> list[Passage]:
        found = await self.searchable.nearest({"user_id": user_id}, words, vector, limit)
        return [
            Passage(str(document["_id"]), document.get("title", ""), document.get("source_type", ""), document["text"])
            for document in (match.document for match in found)
            if document.get("text")
        ]
