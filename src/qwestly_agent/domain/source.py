"""Sources of an answer."""

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

SourceKind: TypeAlias = Literal[
    "document", "memory", "documentation", "profile", "message", "job", "application", "web", "library"
]


class Source(BaseModel):
    """A record that a tool returned, as shown under the answer."""

    model_config = ConfigDict(frozen=True)

    id: str
    """Id of the record, prefixed by its kind: `memory:mem_1`."""
    kind: SourceKind
    title: str
    text: str = ""
    """The beginning of the passage."""
