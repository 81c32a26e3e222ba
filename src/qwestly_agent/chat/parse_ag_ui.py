"""A posted turn as an AG-UI client sends it."""

from typing import Any, Literal

from pydantic import BaseModel, Field, StrictBool

from qwestly_agent.base.errors import AttachmentsUnsupported, Invalid
from qwestly_agent.chat.turn_request import (
    MOST_DECISIONS,
    Chosen,
    ClientId,
    MessagePart,
    PostedDecision,
    TurnRequest,
    checked,
)
from qwestly_agent.domain.approval import LONGEST_REASON_CHARACTERS, Verb


class InterruptAnswer(BaseModel):
    approved: StrictBool
    editedArgs: dict[str, Any] | None = None  # noqa: N815  the wire's name
    reason: str | None = Field(default=None, max_length=LONGEST_REASON_CHARACTERS)


RESUME_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object"},
        "reason": {"type": "string", "maxLength": LONGEST_REASON_CHARACTERS},
    },
    "required": ["approved"],
}
"""What the answer to an interrupt looks like."""


class Resumed(BaseModel):
    """The answer to an interrupt, which names the approval and the call."""

    interruptId: str = Field(pattern=r"^[A-Za-z0-9_\-]{1,128}:[^:]{0,64}$")  # noqa: N815  the wire's name
    status: Literal["resolved", "cancelled"]
    payload: InterruptAnswer | None = None


class AGUITurn(BaseModel):
    """What an AG-UI client posts: answered with its events. Of `messages` only the newest is read, if it is the
    user's; `tools`, `context` and `state` are not."""

    threadId: ClientId  # noqa: N815  the wire's name
    messages: list[Any] = []
    resume: list[Resumed] = Field(default=[], max_length=MOST_DECISIONS)
    forwardedProps: Chosen | None = None  # noqa: N815  the wire's name


class _AGUIMessage(BaseModel):
    id: ClientId | None = None
    role: str
    content: str | list[MessagePart] | None = None


def parse_ag_ui(posted: dict[str, Any]) -> TurnRequest:
    body = AGUITurn.model_validate(posted)
    newest = _AGUIMessage.model_validate(body.messages[-1]) if body.messages else None
    said = newest if newest and newest.role == "user" else None
    decisions = tuple(map(_resumed, body.resume))
    if said is None and not decisions:
        raise Invalid("Nothing new was said or decided: the last message must be the user's, or resume an interrupt.")
    chosen = body.forwardedProps or Chosen()
    return TurnRequest(
        protocol="ag_ui",
        conversation_id=body.threadId,
        text=_content_of(said) if said else None,
        message_id=said.id if said else None,
        likely_new=len(body.messages) == 1 and not decisions,
        decisions=decisions,
        design=chosen.design,
        role=chosen.role,
    )


def _resumed(entry: Resumed) -> PostedDecision:
    """An interrupt that was cancelled is a no."""
    if entry.status == "resolved" and entry.payload is None:
        raise Invalid("resume: An interrupt that is resolved needs a payload.")
    payload = entry.payload if entry.status == "resolved" and entry.payload else InterruptAnswer(approved=False)
    approval_id, _, call_id = entry.interruptId.partition(":")
    verb: Verb = "reject" if not payload.approved else "approve" if payload.editedArgs is None else "edit"
    args = payload.editedArgs if verb == "edit" else None
    return PostedDecision(approval_id, verb, args=args, reason=payload.reason, call_id=call_id)


def _content_of(message: _AGUIMessage) -> str:
    if not isinstance(message.content, list):
        return checked(message.content or "")
    if any(part.type != "text" for part in message.content):
        raise AttachmentsUnsupported
    return checked("\n\n".join(part.text for part in message.content))
