"""The indexes of our collections (each is declared by its store), and our assumptions about the candidate app's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pymongo import IndexModel

from qwestly_agent.domain import candidate
from qwestly_agent.domain.memory import DIMENSIONS
from qwestly_agent.stores import candidate_data, collections, conversation_search, memories, messages

INDEXES: dict[str, list[IndexModel]] = {each: [*each.indexes] for each in collections() if each.indexes}


@dataclass(frozen=True)
class VectorIndex:
    collection: str
    name: str
    path: str
    filters: tuple[str, ...] = ()
    """Fields that a search filters by *inside* `$vectorSearch`."""
    ours: bool = True
    quantization: str = "scalar"
    """Done by Atlas, to a quarter of the memory; `none` for vectors that are stored as int8."""

    type: ClassVar[str] = "vectorSearch"

    def definition(self) -> dict[str, Any]:
        shape = {"numDimensions": DIMENSIONS, "similarity": "cosine", "quantization": self.quantization}
        vector = {"type": "vector", "path": self.path, **shape}
        return {"fields": [vector, *({"type": "filter", "path": path} for path in self.filters)]}

    @staticmethod
    def paths_in(definition: Mapping[str, Any]) -> set[str]:
        return {each["path"] for each in definition.get("fields", [])}


@dataclass(frozen=True)
class TextSearchIndex:
    collection: str
    name: str
    path: str
    filters: tuple[str, ...] = ()
    """Fields that a search filters by *inside* `$search`."""
    ours: bool = True
    analyzer: str = "standard"
    type: ClassVar[str] = "search"

    def definition(self) -> dict[str, Any]:
        # Standard: word boundaries, lower case, no stems or stop words of any language, as in `stores/bm25.py`.
        text = {self.path: {"type": "string", "analyzer": f"lucene.{self.analyzer}"}}
        return {
            "mappings": {"dynamic": False, "fields": {**text, **{path: {"type": "token"} for path in self.filters}}}
        }

    @staticmethod
    def paths_in(definition: Mapping[str, Any]) -> set[str]:
        return set(definition.get("mappings", {}).get("fields", {}))


SEARCH_INDEXES = (
    VectorIndex(memories.COLLECTION, "user_memories_vector_index", "content_embedding", ("user_id", "status")),
    # `text/language.py` makes the stems, separated by blanks.
    TextSearchIndex(
        memories.COLLECTION, "user_memories_search_index", "words", ("user_id", "status"), analyzer="whitespace"
    ),
    VectorIndex(
        messages.COLLECTION,
        conversation_search.VECTOR_INDEX,
        messages.VECTOR,
        ("user_id", "withheld", "role"),
        quantization="none",
    ),
    TextSearchIndex(candidate_data.DOCS, "qwestly_docs_search_index", "text"),
    VectorIndex(candidate_data.DOCS, "qwestly_docs_vector_index", "embedding"),
    # The candidate app's index. Words are compared in our process, as are the vectors of a user's chunks until the
    # index has the filter field.
    VectorIndex(candidate_data.KNOWLEDGE, "knowledge_chunk_vector_index", "embedding", ("user_id",), ours=False),
)


@dataclass(frozen=True)
class Assumed:
    """The fields that we read in a collection of the candidate app."""

    fields: tuple[str, ...]
    required: tuple[str, ...] = field(default=("user_id",))
    """Fields without which we cannot use a document."""


ASSUMED: Mapping[str, Assumed] = {
    **{name: Assumed(tuple(fields.values())) for name, fields in candidate.READ_FIELDS.items()},
    candidate_data.KNOWLEDGE: Assumed(("title", "source_type", "text", "embedding"), ("user_id", "text")),
}
