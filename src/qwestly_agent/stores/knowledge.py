"""Tier 3: chunks of the user's own documents. The candidate app owns the collection and its index."""

from collections.abc import Sequence
from dataclasses import dataclass

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.platform.collection import Document
from qwestly_agent.stores.search import Searchable
from qwestly_agent.text.contacts import Contact, contacts_in, without_contacts

COLLECTION = "knowledge_chunk"
MOST_CHUNKS = 2_000
"""Maximum number of a user's chunks searched for contact details."""


@dataclass(frozen=True)
class Passage:
    """A chunk of a document, with its source and without contact details."""

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
        found = await self.searchable.find_nearest({"user_id": user_id}, words, vector, limit)
        return [
            Passage(
                str(document["_id"]),
                without_contacts(document.get("title", ""))[0],
                document.get("source_type", ""),
                without_contacts(document["text"])[0],
            )
            for document in (match.document for match in found)
            if document.get("text")
        ]

    async def contacts(self, user_id: str) -> list[Contact]:
        """Return the contact details in all of the user's chunks."""
        cursor = self.searchable.collection.find({"user_id": user_id}, {"text": 1}).limit(MOST_CHUNKS)
        return [contact async for each in cursor for contact in contacts_in(each.get("text") or "")]
