"""What a client posts to begin a turn, whichever protocol it speaks."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from qwestly_agent.agents.design import Role
from qwestly_agent.base.errors import Invalid, TooLong
from qwestly_agent.domain.approval import Verb

LONGEST_MESSAGE_CHARACTERS = 20_000
MOST_DECISIONS = 20

ClientId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_\-]{1,128}$")]
"""An id created by a client. Without `.` and `$`, which MongoDB interprets, and `:`, which separates parts of our
keys."""
Protocol = Literal["ai_sdk", "ag_ui", "plain"]


@dataclass(frozen=True)
class PostedDecision:
    """A decision on an approval, as a client posts it."""

    approval_id: str
    verb: Verb
    args_digest: str | None = None
    """None if the protocol cannot carry it: a pending record's arguments never change, so its id is enough."""
    args: dict[str, Any] | None = None
    reason: str | None = None
    call_id: str | None = None
    """Id of the tool call at which the client shows it."""
    earlier: bool = False
    """True if it stands in an older message, where a client repeats it: it counts only while the record is pending."""


@dataclass(frozen=True)
class TurnRequest:
    protocol: Protocol
    conversation_id: str | None
    text: str | None
    """The newest user message; None if only decisions were posted, or if an answer is to be regenerated and the client
    does not name its message."""
    message_id: str | None
    likely_new: bool
    """True if the conversation probably does not exist yet. A wrong guess only costs a round trip."""
    goes_on: bool = False
    """True if the client shows an answer that it got in this conversation: it is not created anew."""
    regenerate: bool = False
    """Regenerate the last answer. A message that we never received is answered for the first time."""
    regenerates: str | None = None
    """Id of the answer to regenerate, if the client names it."""
    decisions: tuple[PostedDecision, ...] = ()
    continues: str | None = None
    """Id of the answer that the client goes on building."""
    replaces: bool = False
    """True if `message_id` must be that of the last message, which is replaced."""
    design: str | None = None
    """For a new conversation; an existing one keeps its own."""
    role: Role | None = None
    """As `design`."""


class Chosen(BaseModel):
    role: Role | None = None
    """What a new conversation is for: `chat` unless said. An existing one keeps its own."""
    design: str | None = Field(default=None, max_length=64)
    """The design of a new conversation. An existing one keeps its own."""


class MessagePart(BaseModel):
    type: str
    text: str = ""


def checked(text: str) -> str:
    if len(text) > LONGEST_MESSAGE_CHARACTERS:
        raise TooLong(f"A message can have {LONGEST_MESSAGE_CHARACTERS:,} characters; this one has {len(text):,}.")
    if not text.strip():
        raise Invalid("The message is empty.")
    return text
