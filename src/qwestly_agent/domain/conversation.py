"""The summary of a conversation, and the sources of its answers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

# --- summary ----------------------------------------------------------------------------------------------------------
# The summary of messages that are no longer in the conversation's window.


class SummaryLine(BaseModel):
    model_config = ConfigDict(frozen=True)

    who: Literal["user", "agent"]
    text: str
    """Written by a model, if a judge found that the quote supports it; otherwise empty, and the quote is used."""
    quote: str
    """Verbatim from the message."""
    message_id: str


class Summary(BaseModel):
    model_config = ConfigDict(frozen=True)

    to: int
    """The summary covers all messages up to this `seq`, the start of the window when it was made."""
    lines: tuple[SummaryLine, ...] = ()
    saw: tuple[str, ...] = ()
    """Ids of the records that the summarized answers saw, as in a message's `saw`."""
    has_others_words: bool = False
    """True if anyone other than the user wrote part of its sources."""


# --- source -----------------------------------------------------------------------------------------------------------
# Sources of an answer.


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


# --- earlier messages -------------------------------------------------------------------------------------------------
# A message of an earlier turn, found by a search.


@dataclass(frozen=True)
class SaidBefore:
    """An earlier message that may be used in a prompt."""

    id: str
    conversation_id: str
    role: str
    content: str
    created_at: datetime
