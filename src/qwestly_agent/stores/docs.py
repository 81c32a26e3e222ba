"""`qwestly_docs`: pages on how Qwestly works. They hold no user data, so these methods take no user id."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.platform.collection import Document, MongoCollection, Permanent, Store
from qwestly_agent.stores.ranks import to_binary
from qwestly_agent.stores.search import Searchable

COLLECTION = MongoCollection(
    "qwestly_docs", Permanent("Replaced by each ingestion."), no_user_reason="Our own documentation."
)


@dataclass(frozen=True)
class DocSection:
    """A section of a page. `id` is derived from path, position and content."""

    id: str
    path: str
    title: str
    text: str


@dataclass(frozen=True)
class Docs(Store):
    searchable: Searchable

    @classmethod
    def of(cls, database: AsyncDatabase[Document]) -> Self:
        searchable = Searchable(
            database[COLLECTION],
            "qwestly_docs_vector_index",
            "embedding",
            "text",
            words_index="qwestly_docs_search_index",
        )
        return cls(database, searchable)

    async def search(self, words: str, vector: Sequence[float] | None, limit: int) -> list[DocSection]:
        found = await self.searchable.find_nearest({}, words, vector, limit)
        documents = [match.document for match in found]
        return [DocSection(str(d["_id"]), d["path"], d["title"], d["text"]) for d in documents]

    async def ids(self) -> set[str]:
        return {str(document["_id"]) async for document in self.database[COLLECTION].find({}, {"_id": 1})}

    async def add(self, sections: Sequence[DocSection], vectors: Sequence[Sequence[float]]) -> None:
        """Insert the sections, replacing those with the same ids."""
        await self.remove([section.id for section in sections])
        await self.database[COLLECTION].insert_many(
            [
                {"_id": s.id, "path": s.path, "title": s.title, "text": s.text, "embedding": to_binary(vector)}
                for s, vector in zip(sections, vectors, strict=True)
            ]
        )

    async def remove(self, ids: Sequence[str]) -> None:
        if ids:
            await self.database[COLLECTION].delete_many({"_id": {"$in": list(ids)}})
