"""Parsing of a posted turn, in either of two protocols: plain, or the AI SDK's.

Of a posted history only the newest message is read, for the user's text and decisions: our stored conversation counts.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints, ValidationError
from pydantic_core import from_json

from qwestly_agent.agents.design import Role
from qwestly_agent.approvals.decide import LONGEST_REASON_CHARACTERS, Decision
from qwestly_agent.base.errors import AttachmentsUnsupported, Invalid, TooLong
from qwestly_agent.domain.approval import Verb

LONGEST_MESSAGE_CHARACTERS = 20_000
MOST_DECISIONS = 20

ClientId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_\-]{1,128}$")]
"""An id created by a client. Without `.` and `$`, which MongoDB interprets, and `:`, which separates parts of our
keys."""
Protocol = Literal["ai_sdk", "plain"]


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


class _Decision(Decision):
    approval_id: ClientId


class _Chosen(BaseModel):
    role: Role | None = None
    """What a new conversation is for: `chat` unless said. An existing one keeps its own."""
    design: str | None = Field(default=None, max_length=64)
    """The design of a new conversation. An existing one keeps its own."""


class _Plain(_Chosen):
    """`curl -N` and the reference widget: answered with named SSE events. A message, decisions, or both."""

    message: str | None = None
    conversation_id: ClientId | None = None
    message_id: ClientId | None = None
    replaces: ClientId | None = None
    """Id of the user's last message, in whose place this one comes; without a message, of the last answer, to be
    made again."""
    decisions: list[_Decision] = Field(default=[], max_length=MOST_DECISIONS)


class _Part(BaseModel):
    type: str
    text: str = ""


class _UIMessage(BaseModel):
    id: ClientId | None = None
    role: str
    parts: list[Any] = []


class _Answered(BaseModel):
    id: ClientId
    approved: bool
    reason: str | None = Field(default=None, max_length=LONGEST_REASON_CHARACTERS)


class _AnsweredPart(BaseModel):
    """A tool's part that its user has answered. Of what it says besides nothing is believed."""

    toolCallId: str = Field(max_length=64)  # noqa: N815  the wire's name
    approval: _Answered


class _AISDK(_Chosen):
    """What `useChat` posts: answered with a UI message stream. Of `messages` only the newest
    user message is read, and the answers to what was asked in the last one."""

    id: ClientId
    messages: list[Any]
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    messageId: ClientId | None = Field(default=None)  # noqa: N815  the wire's name


_FORMS = [form.model_json_schema(ref_template="#/components/schemas/{model}") for form in (_Plain, _AISDK)]
POSTED_DEFINITIONS = {name: schema for form in _FORMS for name, schema in form.pop("$defs", {}).items()}
"""Components of the OpenAPI document that `POSTED_SCHEMA` refers to."""
POSTED_SCHEMA = {"requestBody": {"required": True, "content": {"application/json": {"schema": {"anyOf": _FORMS}}}}}
"""The body's schema in the OpenAPI document; `parse_turn` reads it, not FastAPI."""


def parse_turn(body: bytes) -> TurnRequest:
    """Raises `Invalid`, `TooLong` or `AttachmentsUnsupported`."""
    posted = parse_json(body)
    try:
        return _parse_ai_sdk(posted) if "messages" in posted else _parse_plain(posted)
    except ValidationError as error:
        raise Invalid(_first_problem(error)) from None


def parse_json(body: bytes) -> dict[str, Any]:
    """Raises `Invalid` if the body is not a JSON object."""
    try:
        posted = from_json(body)
    except ValueError:
        raise Invalid("The body is not valid JSON.") from None
    if not isinstance(posted, dict):
        raise Invalid("The body must be a JSON object.")
    return posted


def _parse_plain(posted: dict[str, Any]) -> TurnRequest:
    plain = _Plain.model_validate(posted)
    if plain.decisions and plain.conversation_id is None:
        raise Invalid("Decisions need the conversation in which they were asked for.")
    if plain.replaces and (plain.conversation_id is None or plain.message_id or plain.decisions):
        raise Invalid("replaces: It needs its conversation_id, and takes neither a message_id nor decisions.")
    if plain.message is None and not plain.decisions and not plain.replaces:
        raise Invalid("message: Field required.")
    regenerate = plain.message is None and plain.replaces is not None
    return TurnRequest(
        protocol="plain",
        conversation_id=plain.conversation_id,
        text=None if plain.message is None else _checked(plain.message),
        message_id=plain.message_id if regenerate else plain.replaces or plain.message_id,
        likely_new=plain.conversation_id is None,
        regenerate=regenerate,
        regenerates=plain.replaces if regenerate else None,
        replaces=plain.replaces is not None and not regenerate,
        decisions=tuple(
            PostedDecision(each.approval_id, each.decision, each.args_digest, each.args, each.reason)
            for each in plain.decisions
        ),
        design=plain.design,
        role=plain.role,
    )


def _parse_ai_sdk(posted: dict[str, Any]) -> TurnRequest:
    body = _AISDK.model_validate(posted)
    regenerate = body.trigger == "regenerate-message"
    newest = _UIMessage.model_validate(body.messages[-1]) if body.messages else None
    said = newest if newest and newest.role == "user" else None
    answered = newest if newest and newest.role == "assistant" and not regenerate else None
    decisions = _decisions_of(answered) if answered else ()
    if said is None and not regenerate and not decisions:
        raise Invalid("Nothing new was said or decided: the last message must be the user's, or answer an approval.")
    return TurnRequest(
        protocol="ai_sdk",
        conversation_id=body.id,
        text=_text_of(said) if said else None,
        message_id=(None if regenerate else body.messageId) or said.id if said else None,
        likely_new=len(body.messages) == 1 and not regenerate and not decisions,
        regenerate=regenerate,
        regenerates=body.messageId if regenerate else None,
        decisions=decisions,
        continues=answered.id if answered and decisions else None,
        design=body.design,
        role=body.role,
    )


def _decisions_of(message: _UIMessage) -> tuple[PostedDecision, ...]:
    parts = [part for part in message.parts if isinstance(part, dict) and part.get("state") == "approval-responded"]
    if len(parts) > MOST_DECISIONS:
        raise Invalid(f"So many decisions at once are not possible; at most {MOST_DECISIONS} are.")
    answered = [_AnsweredPart.model_validate(part) for part in parts]
    return tuple(
        PostedDecision(
            each.approval.id,
            "approve" if each.approval.approved else "reject",
            reason=each.approval.reason,
            call_id=each.toolCallId,
        )
        for each in answered
    )


def _text_of(message: _UIMessage) -> str:
    parts = [_Part.model_validate(part) for part in message.parts]
    if any(part.type == "file" for part in parts):
        raise AttachmentsUnsupported
    return _checked("\n\n".join(part.text for part in parts if part.type == "text"))


def _checked(text: str) -> str:
    if len(text) > LONGEST_MESSAGE_CHARACTERS:
        raise TooLong(f"A message can have {LONGEST_MESSAGE_CHARACTERS:,} characters; this one has {len(text):,}.")
    if not text.strip():
        raise Invalid("The message is empty.")
    return text


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc']) or 'body'}: {first['msg']}."
