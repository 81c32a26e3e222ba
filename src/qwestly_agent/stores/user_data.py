"""All that is ours about a user, whatever it is about: to be taken along, and to be erased."""

from collections.abc import AsyncIterator, Mapping
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


@dataclass(frozen=True)
class Expires:
    """The server deletes a document once the date in this field has passed."""

    field: str = "expires_at"


@dataclass(frozen=True)
class Stays:
    """Kept until its user erases it, for this reason."""

    reason: str


COLLECTIONS: Mapping[str, Expires | Stays] = {
    conversations.CONVERSATIONS: Expires(),
    conversations.MESSAGES: Expires(),
    tool_calls.COLLECTION: Expires(),
    memories.COLLECTION: Stays("A memory holds until its user forgets it; what was forgotten is not learnt again."),
    extractions.COLLECTION: Expires(),
    # What was undone loses its date: it is not done again.
    journal.COLLECTION: Expires(),
    # Here `expires_at` is when a person's time is up.
    approvals.COLLECTION: Expires("kept_until"),
    drafts.COLLECTION: Expires(),
    usage.COLLECTION: Expires(),
    autonomy.COLLECTION: Stays("One document a user: the level that they chose."),
    # Last: as long as it stands nothing of theirs begins, and what is erased stays so.
    signals.COLLECTION: Stays("One document a user: their brake stays on until they release it."),
}
"""Each collection whose documents are of one user, named in `user_id`, and how long they stay. Export, erasing and the
TTL indexes go by it."""

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
