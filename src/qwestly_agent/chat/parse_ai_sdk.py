"""A posted turn as the AI SDK's `useChat` sends it."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, Field, StrictBool, ValidationError

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
from qwestly_agent.domain.approval import LONGEST_REASON_CHARACTERS


class _UIMessage(BaseModel):
    id: ClientId | None = None
    role: str
    parts: list[Any] = []


class _Answered(BaseModel):
    id: ClientId
    approved: StrictBool
    reason: str | None = Field(default=None, max_length=LONGEST_REASON_CHARACTERS)


class _AnsweredPart(BaseModel):
    """A tool's part that its user has answered. Of what it says besides nothing is believed."""

    toolCallId: str = Field(max_length=64)  # noqa: N815  the wire's name
    approval: _Answered


class UITurn(Chosen):
    """What `useChat` posts: answered with a UI message stream. Of `messages` only the newest
    user message is read, and the answers to approvals in all of the agent's."""

    id: ClientId
    messages: list[Any]
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    messageId: ClientId | None = Field(default=None)  # noqa: N815  the wire's name


def parse_ai_sdk(posted: dict[str, Any]) -> TurnRequest:
    body = UITurn.model_validate(posted)
    regenerate = body.trigger == "regenerate-message"
    newest = _UIMessage.model_validate(body.messages[-1]) if body.messages else None
    said = newest if newest and newest.role == "user" else None
    answered = newest if newest and newest.role == "assistant" and not regenerate else None
    decisions = (
        *_earlier_decisions(body.messages[:-1] if answered else body.messages),
        *(_decisions_of(answered) if answered else ()),
    )
    if said is None and not regenerate and not decisions:
        raise Invalid("Nothing new was said or decided: the last message must be the user's, or answer an approval.")
    return TurnRequest(
        protocol="ai_sdk",
        conversation_id=body.id,
        text=_text_of(said) if said else None,
        message_id=(None if regenerate else body.messageId) or said.id if said else None,
        likely_new=len(body.messages) == 1 and not regenerate and not decisions,
        goes_on=_has_answer(body.messages),
        regenerate=regenerate,
        regenerates=body.messageId if regenerate else None,
        decisions=decisions,
        continues=answered.id if answered and decisions else None,
        design=body.design,
        role=body.role,
    )


def _has_answer(messages: list[Any]) -> bool:
    """True if a user's message has an answer with parts behind it; one that was refused has none, and a greeting that a
    page puts first stands before all."""
    roles = [each.get("role") for each in messages if isinstance(each, dict) and each.get("parts")]
    return "user" in roles and "assistant" in roles[roles.index("user") :]


def _earlier_decisions(messages: list[Any]) -> Iterable[PostedDecision]:
    """Answers in messages before the newest: `useChat` posts one given to an older card with the next message. A part
    of another shape is not ours. The call is left out, because a client builds another message by now."""
    decisions: dict[str, PostedDecision] = {}
    for message in messages:
        if not isinstance(message, dict) or message.get("role") != "assistant":
            continue
        parts = message.get("parts")
        for part in _answered_parts(parts) if isinstance(parts, list) else ():
            with suppress(ValidationError):
                decision = _decision(_AnsweredPart.model_validate(part))
                decisions[decision.approval_id] = replace(decision, call_id=None, earlier=True)
    return decisions.values()


def _decisions_of(message: _UIMessage) -> tuple[PostedDecision, ...]:
    parts = _answered_parts(message.parts)
    if len(parts) > MOST_DECISIONS:
        raise Invalid(f"So many decisions at once are not possible; at most {MOST_DECISIONS} are.")
    return tuple(_decision(_AnsweredPart.model_validate(part)) for part in parts)


def _answered_parts(parts: list[Any]) -> list[dict[str, Any]]:
    return [part for part in parts if isinstance(part, dict) and part.get("state") == "approval-responded"]


def _decision(part: _AnsweredPart) -> PostedDecision:
    said = part.approval
    verb = "approve" if said.approved else "reject"
    return PostedDecision(said.id, verb, reason=said.reason, call_id=part.toolCallId)


def _text_of(message: _UIMessage) -> str:
    parts = [MessagePart.model_validate(part) for part in message.parts]
    if any(part.type == "file" for part in parts):
        raise AttachmentsUnsupported
    return checked("\n\n".join(part.text for part in parts if part.type == "text"))
