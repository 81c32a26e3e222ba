"""The summary of messages that are no longer in a conversation's window."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class SummaryLine(BaseModel):
    model_config = ConfigDict(frozen=True)

    who: Literal["user", "agent"]
    text: str
    """A model's words, if a judge found that the quote supports them; else empty, and the quote is used."""
    quote: str
    """Verbatim from the message."""
    message_id: str


class Summary(BaseModel):
    model_config = ConfigDict(frozen=True)

    to: int
    """The `seq` up to which it covers all messages: where the window began when it was made."""
    lines: tuple[SummaryLine, ...] = ()
    saw: tuple[str, ...] = ()
    """Ids of the records that the summarized answers saw, as in a message's `saw`."""
    has_others_words: bool = False
    """True if any of its sources was written by others than the user."""
