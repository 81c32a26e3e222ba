"""All of a user's data in our collections, for export and erasure."""

from collections.abc import AsyncIterator
from functools import cache

from qwestly_agent.platform.collection import Document, MongoCollection, Store
from qwestly_agent.stores import activity, collections, conversations, messages, user_settings

# First, because a turn that ends afterwards finds its conversation missing and removes its messages again.
_FIRST = (conversations.COLLECTION,)
# Last, because events of other collections are copied into the feed, and because nothing of this user starts while the
# brake is on, so nothing is written again.
_LAST = (activity.COLLECTION, user_settings.SIGNALS)

_SECRETS = ("task_token", "links", "unsubscribe")
_NUMBERS = ("content_embedding", messages.VECTOR, "vectors", "words")
_FORGOTTEN_HASHES = ("hash", "key", "hashes", "signature")
"""Hashes and signatures of forgotten content, with which a guess could be confirmed."""
_LEFT_OUT = dict.fromkeys((*_SECRETS, *_NUMBERS, *_FORGOTTEN_HASHES), 0)


@cache
def user_collections() -> tuple[MongoCollection, ...]:
    """Return all collections with user data, in the order of export and erasure."""
    of_users = {each for each in collections() if not each.no_user_reason}
    return (*_FIRST, *sorted(of_users.difference(_FIRST, _LAST)), *_LAST)


class UserData(Store):
    async def count_documents(self, user_id: str) -> dict[str, int]:
        """Return the number of the user's documents, by collection."""
        return {name: await self.database[name].count_documents({"user_id": user_id}) for name in user_collections()}

    async def iterate(self, user_id: str, collection: str) -> AsyncIterator[Document]:
        """Yield the user's documents, without vectors, task tokens and hashes."""
        async for document in self.database[collection].find({"user_id": user_id}, _LEFT_OUT):
            yield document

    async def erase(self, user_id: str, collection: str) -> int:
        """Delete the user's documents. Returns their number."""
        return (await self.database[collection].delete_many({"user_id": user_id})).deleted_count
