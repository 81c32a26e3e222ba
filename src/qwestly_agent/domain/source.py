"""Sources of an answer."""

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

SourceKind: TypeAlias = Literal[
    "document", "memory", "documentation", "profile", "message", "job", "application", "web", "library"
]


class Source(BaseModel):
    """A record that a tool returned, as a person reads it under the answer."""

    model_config = ConfigDict(frozen=True)

    id: str
    """Id of the record, after its kind: `memory:mem_1`."""
    kind: SourceKind
    title: str
    text: str = ""
    """The beginning of its passage."""
