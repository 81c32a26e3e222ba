"""All of a user's data in our collections, for export and erasure."""

from collections.abc import AsyncIterator
from functools import cache

from qwestly_agent.stores import activity, conversations, messages, user_settings
from qwestly_agent.stores.collection import MongoCollection, collections
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.store import Store

# A turn that still ends finds its conversation gone, and takes its messages out again.
_FIRST = (conversations.COLLECTION,)
# Events of the others are copied into the feed. While the brake is on, nothing of this user starts, and so nothing is
# written again.
_LAST = (activity.COLLECTION, user_settings.SIGNALS)

_SECRETS = ("task_token", "links", "unsubscribe")
_NUMBERS = ("content_embedding", messages.VECTOR, "vectors", "words")
_FORGOTTEN_HASHES = ("hash", "key", "hashes", "signature")
"""Hashes and signatures of forgotten content: a guess could be confirmed with them."""
_LEFT_OUT = dict.fromkeys((*_SECRETS, *_NUMBERS, *_FORGOTTEN_HASHES), 0)


@cache
def user_collections() -> tuple[MongoCollection, ...]:
    """Return every collection with documents of one user, in the order in which they are exported and erased."""
    of_users = {each for each in collections() if not each.of_no_user}
    return (*_FIRST, *sorted(of_users.difference(_FIRST, _LAST)), *_LAST)


class UserData(Store):
    async def counts(self, user_id: str) -> dict[str, int]:
        """Number of documents, by collection."""
        return {name: await self.database[name].count_documents({"user_id": user_id}) for name in user_collections()}

    async def each(self, user_id: str, collection: str) -> AsyncIterator[Document]:
        """The user's documents, without vectors, task tokens and hashes."""
        async for document in self.database[collection].find({"user_id": user_id}, _LEFT_OUT):
            yield document

    async def erase(self, user_id: str, collection: str) -> int:
        """Return the number of deleted documents."""
        return (await self.database[collection].delete_many({"user_id": user_id})).deleted_count
