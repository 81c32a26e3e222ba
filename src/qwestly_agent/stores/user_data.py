"""All of a user's data in our collections, for export and erasure."""

from collections.abc import AsyncIterator

from qwestly_agent.stores import (
    activity,
    applications,
    approvals,
    autonomy,
    briefings,
    conversations,
    drafts,
    extractions,
    job_matches,
    job_searches,
    journal,
    learning,
    lessons,
    memories,
    messages,
    resumes,
    runs,
    signals,
    tool_calls,
    usage,
    user_settings,
    variant_counts,
)
from qwestly_agent.stores.collection import MongoCollection
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.store import Store

COLLECTIONS: tuple[MongoCollection, ...] = (
    conversations.COLLECTION,
    messages.COLLECTION,
    tool_calls.COLLECTION,
    memories.COLLECTION,
    extractions.COLLECTION,
    journal.COLLECTION,
    approvals.COLLECTION,
    drafts.COLLECTION,
    resumes.COLLECTION,
    resumes.FILES,
    lessons.COLLECTION,
    learning.COLLECTION,
    applications.COLLECTION,
    job_matches.COLLECTION,
    job_searches.COLLECTION,
    usage.COLLECTION,
    autonomy.COLLECTION,
    user_settings.COLLECTION,
    runs.COLLECTION,
    activity.COLLECTION,
    briefings.COLLECTION,
    variant_counts.COLLECTION,
    # Last: while the brake is on, nothing of this user starts, and so nothing is written again.
    signals.COLLECTION,
)
"""Every collection with documents of one user (named in `user_id`), in the order in which they are exported and
erased."""

_SECRETS = ("task_token", "links", "unsubscribe")
_NUMBERS = ("content_embedding", messages.VECTOR, "vectors", "words")
_FORGOTTEN_HASHES = ("hash", "key", "hashes", "signature")
"""Hashes and signatures of forgotten content: a guess could be confirmed with them."""
_LEFT_OUT = dict.fromkeys((*_SECRETS, *_NUMBERS, *_FORGOTTEN_HASHES), 0)


class UserData(Store):
    async def counts(self, user_id: str) -> dict[str, int]:
        """Number of documents, by collection."""
        return {name: await self.database[name].count_documents({"user_id": user_id}) for name in COLLECTIONS}

    async def each(self, user_id: str, collection: str) -> AsyncIterator[Document]:
        """The user's documents, without vectors, task tokens and hashes."""
        async for document in self.database[collection].find({"user_id": user_id}, _LEFT_OUT):
            yield document

    async def erase(self, user_id: str, collection: str) -> int:
        """Return the number of deleted documents."""
        return (await self.database[collection].delete_many({"user_id": user_id})).deleted_count
