"""Tier 3: the user's own documents, in chunks. The collection and its index are the candidate app's."""

from collections.abc import Sequence
from dataclasses import dataclass

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.stores.search import Document, Searchable

COLLECTION = "knowledge_chunk"


@dataclass(frozen=True)
class Passage:
    """A piece of a document, with what a reader needs to judge it."""

    id: str
    title: str
    kind: str
    """As the candidate app calls it: `resume`, `transcript`, `document`."""
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
