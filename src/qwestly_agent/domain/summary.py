"""The summary of what fell out of a conversation's window."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class SummaryLine(BaseModel):
    model_config = ConfigDict(frozen=True)

    who: Literal["user", "agent"]
    text: str
    """A model's words where a judge found the quote to support them; else empty, and the quote stands for them."""
    quote: str
    """Verbatim from the message."""
    message_id: str


class Summary(BaseModel):
    model_config = ConfigDict(frozen=True)

    to: int
    """The `seq` before which it tells of all: where the window began when it was made."""
    lines: tuple[SummaryLine, ...] = ()
    saw: tuple[str, ...] = ()
    """What the summarized answers saw: ids as in a message's `saw`."""
    has_others_words: bool = False
    """True if others than the user wrote any of what it was made of."""
