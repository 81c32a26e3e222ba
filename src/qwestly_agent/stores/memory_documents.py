"""A memory's document in `user_memories`: its statuses, and how it is parsed.

Its `key` is unique per user. While the memory is active or waits for approval or for the judge, the key is the hash of
its content, so that nothing is remembered twice; afterwards the key is its id. A forgotten memory is kept as a
tombstone without text (`domain/tombstone.py`).
"""

from collections.abc import Iterable
from contextlib import suppress

from pydantic import ValidationError

from qwestly_agent.domain.memory import Memory, Score
from qwestly_agent.domain.ranking import present
from qwestly_agent.stores.collection import ALL_ACTIONS, MongoCollection, Permanent, index
from qwestly_agent.stores.search import Document, Match

COLLECTION = MongoCollection(
    "user_memories",
    Permanent("A memory holds until its user forgets it; what was forgotten is not learnt again."),
    index("most_salient", "user_id", "status", "-salience"),
    index("withdrawn", "user_id", "-withdrawn_at"),
    # Unique, so that the same content is stored only once, even by two processes at the same time. A memory has a key
    # as long as its content must be unique; the partial filter excludes memories from before keys existed.
    index("key", "user_id", "key", unique=True, partialFilterExpression={"key": {"$type": "string"}}),
    index("newest", "user_id", "-created"),
    index("superseded_by", "user_id", "superseded_by"),
    # Memories that were not consolidated yet.
    index("users_to_consolidate", "consolidated", "status", "user_id"),
    index("consolidated", "consolidated", "status", "created"),
    holds="memories with their quotes; for forgotten ones hashes and a signature, no text",
    has_outbox=True,
    reader=ALL_ACTIONS,
)
ACTIVE, PROPOSED, UNCHECKED = "active", "proposed", "unchecked"
SUPERSEDED, MERGED, FORGOTTEN = "superseded", "merged", "forgotten"
UNIQUE_STATUSES = (ACTIVE, PROPOSED, UNCHECKED)
"""No two memories with these statuses have equal content."""
READABLE = (*UNIQUE_STATUSES, SUPERSEDED, MERGED)
MOST_MESSAGE_IDS = 200
"""Maximum number of message ids stored per memory, so that no message counts twice."""
WITHOUT_VECTORS = {"content_embedding": 0}


def created_of(document: Document) -> float:
    if "created" in document:
        return document["created"]
    return document["created_at"].timestamp() if document.get("created_at") else 0.0


def memories_of(documents: Iterable[Document]) -> list[Memory]:
    """Parse the documents, skipping invalid ones: one bad document must not break every turn of its user."""
    read = []
    for document in documents:
        fields = {name: value for name, value in document.items() if name in Memory.model_fields}
        with suppress(ValidationError):
            read.append(Memory.model_validate({**fields, "id": str(document["_id"])}))
    return read


def score_of(match: Match, now: float) -> Score:
    return Score(
        words=match.place.words,
        meaning=match.place.meaning,
        salience=round(present(match.document.get("salience", 0.0), now), 4),
        total=round(match.place.total, 4),
    )
