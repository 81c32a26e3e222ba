"""The indexes of our collections, and what we assume of those that are not ours."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pymongo import ASCENDING, DESCENDING, IndexModel

from qwestly_agent.domain import candidate_shapes
from qwestly_agent.domain.embedding import DIMENSIONS
from qwestly_agent.stores import (
    activity,
    adverts,
    applications,
    approvals,
    autonomy,
    briefings,
    conversation_search,
    conversations,
    docs,
    drafts,
    extractions,
    job_matches,
    job_searches,
    journal,
    knowledge,
    lessons,
    memories,
    messages,
    resumes,
    runs,
    signals,
    tool_calls,
    topics,
    user_settings,
    variant_counts,
)
from qwestly_agent.stores.user_data import COLLECTIONS, Expires

# For documents with events that are not in the feed yet.
_UNCOPIED = IndexModel([("uncopied_since", ASCENDING)], name="uncopied", sparse=True)

_GOES = IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0)

_QUERIES: dict[str, list[IndexModel]] = {
    # A turn claims its conversation by `_id`, which is made of user and conversation.
    conversations.COLLECTION: [
        IndexModel([("user_id", ASCENDING), ("last_used", DESCENDING)], name="user_last_used"),
        # The running turns of a user, and of all users.
        IndexModel([("user_id", ASCENDING), ("lease_until", ASCENDING)], name="user_lease"),
        IndexModel([("lease_until", ASCENDING)], name="lease"),
        # Conversations that are due to be read for memories.
        IndexModel([("extract_at", ASCENDING)], name="extract_at"),
        IndexModel([("extract_set_aside.at", ASCENDING)], name="set_aside", sparse=True),
        # Conversations in a trial.
        IndexModel([("assignment.variant", ASCENDING)], name="assignment", sparse=True),
        _UNCOPIED,
    ],
    messages.COLLECTION: [
        # Unique: of two turns that both believe they hold a conversation, only one can record its messages.
        IndexModel(
            [("user_id", ASCENDING), ("conversation_id", ASCENDING), ("seq", ASCENDING)], name="order", unique=True
        ),
        IndexModel([("user_id", ASCENDING), ("conversation_id", ASCENDING), ("id", ASCENDING)], name="message_id"),
        IndexModel([("user_id", ASCENDING), ("created_at", DESCENDING)], name="user_created_at"),
        # The answers of all users, of which a sample is judged at night.
        IndexModel([("created_at", ASCENDING)], name="answers", partialFilterExpression={"role": "assistant"}),
    ],
    tool_calls.COLLECTION: [
        IndexModel([("user_id", ASCENDING), ("at", DESCENDING)], name="user_at"),
        IndexModel([("tool", ASCENDING), ("outcome", ASCENDING), ("at", DESCENDING)], name="tool_outcome"),
    ],
    approvals.COLLECTION: [
        IndexModel([("user_id", ASCENDING), ("status", ASCENDING), ("created_at", DESCENDING)], name="queue"),
        IndexModel([("user_id", ASCENDING), ("conversation_id", ASCENDING), ("news", ASCENDING)], name="news"),
        IndexModel([("due_at", ASCENDING)], name="due"),
        # Of all users: effects that are being sent, for the brake, and the oldest pending approval.
        IndexModel([("status", ASCENDING), ("created_at", ASCENDING)], name="status"),
        IndexModel([("links", ASCENDING)], name="links"),
        # Approvals that were proposed in a trial.
        IndexModel([("variant", ASCENDING)], name="variant", partialFilterExpression={"variant": {"$type": "string"}}),
        _UNCOPIED,
    ],
    drafts.COLLECTION: [
        IndexModel([("user_id", ASCENDING), ("updated_at", ASCENDING)], name="user_updated"),
        IndexModel([("status", ASCENDING)], name="status"),
        _UNCOPIED,
    ],
    activity.COLLECTION: [
        # In the order of updates, and in that of the feed.
        IndexModel([("user_id", ASCENDING), ("copied_at", ASCENDING)], name="user_copied"),
        IndexModel([("copied_at", ASCENDING)], name="copied"),
        IndexModel([("user_id", ASCENDING), ("at", DESCENDING)], name="user_at"),
    ],
    extractions.COLLECTION: [IndexModel([("user_id", ASCENDING)], name="user"), _UNCOPIED],
    memories.COLLECTION: [
        IndexModel([("user_id", ASCENDING), ("status", ASCENDING), ("salience", DESCENDING)], name="most_salient"),
        IndexModel([("user_id", ASCENDING), ("withdrawn_at", DESCENDING)], name="withdrawn"),
        # Unique: the same content is stored once, also by two processes at the same moment. A memory has a key as
        # long as its content must be unique; the partial filter leaves out memories from before there were keys.
        IndexModel(
            [("user_id", ASCENDING), ("key", ASCENDING)],
            name="key",
            unique=True,
            partialFilterExpression={"key": {"$type": "string"}},
        ),
        IndexModel([("user_id", ASCENDING), ("created", DESCENDING)], name="newest"),
        IndexModel([("user_id", ASCENDING), ("superseded_by", ASCENDING)], name="superseded_by"),
        # Memories that the nightly consolidation has not seen.
        IndexModel(
            [("consolidated", ASCENDING), ("status", ASCENDING), ("user_id", ASCENDING)], name="users_to_consolidate"
        ),
        IndexModel([("consolidated", ASCENDING), ("status", ASCENDING), ("created", ASCENDING)], name="consolidated"),
        _UNCOPIED,
    ],
    journal.COLLECTION: [IndexModel([("user_id", ASCENDING), ("created", ASCENDING)], name="user_created"), _UNCOPIED],
    # A document has no `brake_since` while its brake is off.
    signals.COLLECTION: [IndexModel([("brake_since", ASCENDING)], name="brake_since"), _UNCOPIED],
    autonomy.COLLECTION: [_UNCOPIED],
    briefings.COLLECTION: [
        IndexModel([("user_id", ASCENDING), ("created_at", DESCENDING)], name="user_created"),
        IndexModel([("unsubscribe", ASCENDING)], name="unsubscribe", sparse=True),
        _UNCOPIED,
    ],
    resumes.COLLECTION: [
        IndexModel([("user_id", ASCENDING), ("created_at", DESCENDING)], name="user_created"),
        _UNCOPIED,
    ],
    lessons.COLLECTION: [
        IndexModel([("user_id", ASCENDING), ("created_at", DESCENDING)], name="user_created"),
        _UNCOPIED,
    ],
    applications.COLLECTION: [
        IndexModel([("user_id", ASCENDING), ("updated_at", DESCENDING)], name="user_updated"),
        IndexModel([("due_at", ASCENDING)], name="due_at"),
        _UNCOPIED,
    ],
    job_matches.COLLECTION: [
        IndexModel([("user_id", ASCENDING), ("found_at", DESCENDING), ("score", DESCENDING)], name="user_found")
    ],
    job_searches.COLLECTION: [IndexModel([("next_at", ASCENDING)], name="next_at"), _UNCOPIED],
    # These belong to no user.
    adverts.COLLECTION: [_GOES],
    adverts.ANSWERS: [_GOES],
    topics.COLLECTION: [IndexModel([("topic", ASCENDING)], name="topic")],
    # A user whose briefings are off has no such moment.
    user_settings.COLLECTION: [IndexModel([("briefing_at", ASCENDING)], name="briefing_at", sparse=True), _UNCOPIED],
    # The counts of all users, for one leg of a trial.
    variant_counts.COLLECTION: [IndexModel([("tag", ASCENDING)], name="tag")],
    runs.COLLECTION: [
        IndexModel([("user_id", ASCENDING)], name="user"),
        IndexModel([("until", ASCENDING)], name="until"),
        IndexModel([("stopped_at", ASCENDING)], name="stopped_at"),
    ],
}

INDEXES: dict[str, list[IndexModel]] = _QUERIES | {
    # The stores write the date, and the server deletes the document.
    name: [*_QUERIES.get(name, ()), IndexModel([(kept.field, ASCENDING)], name=kept.field, expireAfterSeconds=0)]
    for name, kept in COLLECTIONS.items()
    if isinstance(kept, Expires)
}


@dataclass(frozen=True)
class VectorIndex:
    collection: str
    name: str
    path: str
    filters: tuple[str, ...] = ()
    """Fields that a search filters by *inside* `$vectorSearch`."""
    ours: bool = True

    type: ClassVar[str] = "vectorSearch"

    def definition(self) -> dict[str, Any]:
        # Quantised, the vectors that Atlas holds in memory take a quarter of the space.
        shape = {"numDimensions": DIMENSIONS, "similarity": "cosine", "quantization": "scalar"}
        vector = {"type": "vector", "path": self.path, **shape}
        return {"fields": [vector, *({"type": "filter", "path": path} for path in self.filters)]}

    @staticmethod
    def paths_in(definition: Mapping[str, Any]) -> set[str]:
        return {each["path"] for each in definition.get("fields", [])}


@dataclass(frozen=True)
class WordsIndex:
    collection: str
    name: str
    path: str
    filters: tuple[str, ...] = ()
    """Fields that a search filters by *inside* `$search`."""
    ours: bool = True
    analyzer: str = "standard"
    type: ClassVar[str] = "search"

    def definition(self) -> dict[str, Any]:
        # Standard: by word boundaries, in lower case, no language's stems or stop words, as `stores/bm25.py`.
        text = {self.path: {"type": "string", "analyzer": f"lucene.{self.analyzer}"}}
        return {
            "mappings": {"dynamic": False, "fields": {**text, **{path: {"type": "token"} for path in self.filters}}}
        }

    @staticmethod
    def paths_in(definition: Mapping[str, Any]) -> set[str]:
        return set(definition.get("mappings", {}).get("fields", {}))


SEARCH_INDEXES = (
    VectorIndex(memories.COLLECTION, "user_memories_vector_index", "content_embedding", ("user_id", "status")),
    # The stems are made by `text/stems.py`: between blanks.
    WordsIndex(
        memories.COLLECTION, "user_memories_search_index", "words", ("user_id", "status"), analyzer="whitespace"
    ),
    VectorIndex(
        messages.COLLECTION, conversation_search.VECTOR_INDEX, messages.VECTOR, ("user_id", "withheld", "role")
    ),
    WordsIndex(docs.COLLECTION, "qwestly_docs_search_index", "text"),
    VectorIndex(docs.COLLECTION, "qwestly_docs_vector_index", "embedding"),
    # The candidate app's; words are compared in our process. Until the index has the filter field, vectors of a
    # user's own chunks are compared in our process too.
    VectorIndex(knowledge.COLLECTION, "knowledge_chunk_vector_index", "embedding", ("user_id",), ours=False),
)


@dataclass(frozen=True)
class Assumed:
    """The fields that we read in a collection of the candidate app."""

    fields: tuple[str, ...]
    required: tuple[str, ...] = field(default=("user_id",))
    """A document without these is useless to us."""


ASSUMED: Mapping[str, Assumed] = {
    **{name: Assumed(tuple(fields.values())) for name, fields in candidate_shapes.READ_FIELDS.items()},
    knowledge.COLLECTION: Assumed(("title", "source_type", "text", "embedding"), ("user_id", "text")),
}
