"""All of a user's data in our collections, for export and erasure."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

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
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.store import Store


@dataclass(frozen=True)
class Expires:
    """MongoDB deletes a document once the date in this field has passed."""

    after: timedelta
    """The longest time from the document's creation, or from the last use that prolongs it."""
    field: str = "expires_at"


@dataclass(frozen=True)
class Stays:
    """Kept until the user erases it; `reason` says why."""

    reason: str


COLLECTIONS: Mapping[str, Expires | Stays] = {
    conversations.COLLECTION: Expires(timedelta(seconds=conversations.RETENTION_SECONDS)),
    messages.COLLECTION: Expires(
        timedelta(seconds=conversations.RETENTION_SECONDS + conversations.RETENTION_SLACK_SECONDS)
    ),
    tool_calls.COLLECTION: Expires(tool_calls.RETENTION),
    memories.COLLECTION: Stays("A memory holds until its user forgets it; what was forgotten is not learnt again."),
    extractions.COLLECTION: Expires(extractions.RETENTION),
    # An undone run has no expiry date, so that it is not done again.
    journal.COLLECTION: Expires(journal.RETENTION),
    # Here `expires_at` is the deadline of the decision.
    approvals.COLLECTION: Expires(approvals.RETENTION, "kept_until"),
    drafts.COLLECTION: Expires(drafts.RETENTION),
    resumes.COLLECTION: Expires(resumes.RETENTION),
    resumes.FILES: Expires(resumes.FILE_RETENTION),
    lessons.COLLECTION: Expires(lessons.RETENTION),
    learning.COLLECTION: Expires(learning.RETENTION),
    applications.COLLECTION: Expires(applications.RETENTION),
    job_matches.COLLECTION: Expires(job_matches.RETENTION),
    job_searches.COLLECTION: Stays("One document a user: the jobs that they look for, and what their thumbs taught."),
    usage.COLLECTION: Expires(timedelta(days=usage.DAYS_KEPT)),
    autonomy.COLLECTION: Stays("One document a user: the level that they chose, and what was earned."),
    user_settings.COLLECTION: Stays(
        "One document a user: the language, the time zone and the briefings that they chose."
    ),
    runs.COLLECTION: Expires(max(runs.RETENTION, runs.UNKNOWN_KEPT)),
    activity.COLLECTION: Expires(activity.RETENTION),
    briefings.COLLECTION: Expires(briefings.RETENTION),
    variant_counts.COLLECTION: Expires(variant_counts.RETENTION),
    # Last: while the brake is on, nothing of this user starts, and so nothing is written again.
    signals.COLLECTION: Stays("One document a user: their brake stays on until they release it."),
}
"""Every collection with documents of one user (named in `user_id`), and its retention. Export, erasure and the TTL
indexes are derived from it."""

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
