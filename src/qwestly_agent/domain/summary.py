"""The summary of messages that are no longer in the conversation's window."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


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
