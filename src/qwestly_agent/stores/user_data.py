"""All that is ours about a user, whatever it is about: to be taken along, and to be erased."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.stores import (
    approvals,
    autonomy,
    conversations,
    drafts,
    extractions,
    journal,
    memories,
    signals,
    tool_calls,
    usage,
)
from qwestly_agent.stores.search import Document

COLLECTIONS: tuple[str, ...] = (
    conversations.CONVERSATIONS,
    conversations.MESSAGES,
    tool_calls.COLLECTION,
    memories.COLLECTION,
    extractions.COLLECTION,
    journal.COLLECTION,
    approvals.COLLECTION,
    drafts.COLLECTION,
    usage.COLLECTION,
    autonomy.COLLECTION,
    # Last: as long as it stands nothing of theirs begins, and what is erased stays so.
    signals.COLLECTION,
)
"""Each document of these is of one user, and says of whom in `user_id`."""

_SECRETS = ("task_token", "links")
_NUMBERS = ("content_embedding", "vectors")
_OF_WHAT_IS_FORGOTTEN = ("hash", "key", "hashes", "signature")
"""By which it is known again: whoever guesses it could have the guess confirmed."""
_LEFT_OUT = dict.fromkeys((*_SECRETS, *_NUMBERS, *_OF_WHAT_IS_FORGOTTEN), 0)


@dataclass(frozen=True)
class UserData:
    database: AsyncDatabase[Document]

    async def counts(self, user_id: str) -> dict[str, int]:
        """Documents, by collection."""
        return {name: await self.database[name].count_documents({"user_id": user_id}) for name in COLLECTIONS}

    async def each(self, user_id: str, collection: str) -> AsyncIterator[Document]:
        """Without vectors, task tokens and hashes."""
        async for document in self.database[collection].find({"user_id": user_id}, _LEFT_OUT):
            yield document

    async def erase(self, user_id: str, collection: str) -> int:
        """How many documents were there."""
        return (await self.database[collection].delete_many({"user_id": user_id})).deleted_count
