"""A turn as posted by a client, in one of three protocols: plain, the AI SDK's, or AG-UI.

Only the newest message of a posted history is used, and the AI SDK's decisions on pending approvals: our stored
conversation is authoritative.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StrictBool, StringConstraints, ValidationError
from pydantic.json_schema import models_json_schema
from pydantic_core import from_json

from qwestly_agent.agents.design import Role
from qwestly_agent.approvals.decide import Decision
from qwestly_agent.base.errors import AttachmentsUnsupported, Invalid, TooLong
from qwestly_agent.domain.approval import LONGEST_REASON_CHARACTERS, Verb

LONGEST_MESSAGE_CHARACTERS = 20_000
MOST_DECISIONS = 20

ClientId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_\-]{1,128}$")]
"""An id created by a client. Without `.` and `$`, which MongoDB interprets, and `:`, which separates parts of our
keys."""
Protocol = Literal["ai_sdk", "ag_ui", "plain"]


@dataclass(frozen=True)
class PostedDecision:
    """A decision on an approval, as posted by a client."""

    approval_id: str
    verb: Verb
    args_digest: str | None = None
    """None if the protocol cannot carry it; the id suffices, because a pending record's arguments never change."""
    args: dict[str, Any] | None = None
    reason: str | None = None
    opened: bool = False
    """True if the client showed the whole preview."""
    call_id: str | None = None
    """Id of the tool call under which the client shows the approval."""
    in_words: bool = False
    """True if the decision was read from a message ("yes"), not from a button."""
    earlier: bool = False
    """True if the decision is in an older message, where a client repeats it: it takes effect only while the record is
    pending."""


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
    must_exist: bool = False
    """True if the conversation must already exist, because the client shows one of its answers."""
    regenerate: bool = False
    """Regenerate the last answer. If the message never reached us, it is answered for the first time."""
    regenerates: str | None = None
    """Id of the answer to regenerate, if the client names it."""
    decisions: tuple[PostedDecision, ...] = ()
    continues: str | None = None
    """Id of the answer that the client continues."""
    answers: str | None = None
    """Id of the last answer that the client had shown completely when the message was sent."""
    loads: bool = False
    """True if the request contains no message or decision: the client loads the conversation."""
    replaces: bool = False
    """True if `message_id` must be the id of the last message, which is replaced."""
    design: str | None = None
    """The design of a new conversation; an existing one keeps its design."""
    role: Role | None = None
    """The role of a new conversation; an existing one keeps its role."""


class Chosen(BaseModel):
    role: Role | None = None
    """The purpose of a new conversation; default `chat`. An existing one keeps its role."""
    design: str | None = Field(default=None, max_length=64)
    """The design of a new conversation. An existing one keeps its design."""


class MessagePart(BaseModel):
    type: str
    text: str = ""


def validate_text(text: str) -> str:
    if len(text) > LONGEST_MESSAGE_CHARACTERS:
        raise TooLong(f"A message can have {LONGEST_MESSAGE_CHARACTERS:,} characters; this one has {len(text):,}.")
    if not text.strip():
        raise Invalid("The message is empty.")
    return text


# --- plain ------------------------------------------------------------------------------------------------------------


class DecisionInTurn(Decision):
    approval_id: ClientId


class PlainTurn(Chosen):
    """A turn from `curl -N` or the reference widget, answered with named SSE events. It has a message, decisions, or
    both."""

    message: str | None = None
    conversation_id: ClientId | None = None
    message_id: ClientId | None = None
    replaces: ClientId | None = None
    """Id of the user's last message, if this message replaces it. Without a message, id of the last answer, which is
    regenerated."""
    answers: ClientId | None = None
    """Id of the last answer that the client showed completely: a typed yes or no decides only what that answer asks."""
    decisions: list[DecisionInTurn] = Field(default=[], max_length=MOST_DECISIONS)


def parse_plain(posted: dict[str, Any]) -> TurnRequest:
    plain = PlainTurn.model_validate(posted)
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
        text=None if plain.message is None else validate_text(plain.message),
        message_id=plain.message_id if regenerate else plain.replaces or plain.message_id,
        likely_new=plain.conversation_id is None,
        regenerate=regenerate,
        regenerates=plain.replaces if regenerate else None,
        answers=plain.answers,
        replaces=plain.replaces is not None and not regenerate,
        decisions=tuple(
            PostedDecision(each.approval_id, each.decision, each.args_digest, each.args, each.reason, bool(each.opened))
            for each in plain.decisions
        ),
        design=plain.design,
        role=plain.role,
    )


# --- the AI SDK -------------------------------------------------------------------------------------------------------


class _UIMessage(BaseModel):
    id: ClientId | None = None
    role: str
    parts: list[Any] = []


class _Answered(BaseModel):
    id: ClientId
    approved: StrictBool
    reason: str | None = Field(default=None, max_length=LONGEST_REASON_CHARACTERS)


class _AnsweredPart(BaseModel):
    """A tool's part with the user's decision. All other contents are ignored."""

    toolCallId: str = Field(max_length=64)  # noqa: N815  the wire's name
    approval: _Answered


class UITurn(Chosen):
    """A post by `useChat`, answered with a UI message stream. Of `messages`, only the newest user message is used, the
    decisions on approvals in the agent's messages, and the id of the last agent message, unless `answers` names it."""

    id: ClientId
    messages: list[Any]
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    messageId: ClientId | None = Field(default=None)  # noqa: N815  the wire's name
    answers: ClientId | None = None


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
        must_exist=_has_answer(body.messages),
        regenerate=regenerate,
        regenerates=body.messageId if regenerate else None,
        decisions=decisions,
        continues=answered.id if answered and decisions else None,
        answers=body.answers or _last_answer(body.messages, _has_usage),
        design=body.design,
        role=body.role,
    )


def _has_answer(messages: list[Any]) -> bool:
    """True if a user message is followed by an answer with parts. A rejected message has no answer. A greeting does not
    count, because it precedes the first user message."""
    roles = [each.get("role") for each in messages if isinstance(each, dict) and each.get("parts")]
    return "user" in roles and "assistant" in roles[roles.index("user") :]


def _has_usage(message: dict[str, Any]) -> bool:
    """True if the message has the metadata sent at the end of its stream."""
    metadata = message.get("metadata")
    return isinstance(metadata, dict) and "output_tokens" in metadata


def _last_answer(messages: list[Any], is_whole: Callable[[dict[str, Any]], bool]) -> str | None:
    """Return the id of the last assistant message; None if the client may have received only its beginning."""
    answers = (each for each in reversed(messages) if isinstance(each, dict) and each.get("role") == "assistant")
    last = next(answers, {})
    return str(last.get("id")) if is_whole(last) else None


def _earlier_decisions(messages: list[Any]) -> Iterable[PostedDecision]:
    """Return the decisions in messages before the newest: `useChat` posts a decision on an older card with the next
    message. Parts in another format are ignored. The call id is left out, because the client is building another
    message by now."""
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
    return validate_text("\n\n".join(part.text for part in parts if part.type == "text"))


# --- AG-UI ------------------------------------------------------------------------------------------------------------


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
"""The schema of the answer to an interrupt."""


class Resumed(BaseModel):
    """The answer to an interrupt, which names the approval and the call."""

    interruptId: str = Field(pattern=r"^[A-Za-z0-9_\-]{1,128}:[^:]{0,64}$")  # noqa: N815  the wire's name
    status: Literal["resolved", "cancelled"]
    payload: InterruptAnswer | None = None


class AGUITurn(BaseModel):
    """A post by an AG-UI client, answered with AG-UI events. Of `messages` only the newest is used, if it is the
    user's, and the id of the last assistant message; `tools`, `context` and `state` are ignored. Without a message of
    the user at the end and without `resume`, it loads the thread."""

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
    chosen = body.forwardedProps or Chosen()
    return TurnRequest(
        protocol="ag_ui",
        conversation_id=body.threadId,
        text=_content_of(said) if said else None,
        message_id=said.id if said else None,
        likely_new=len(body.messages) == 1 and not decisions,
        # The code's question is a message of its own, with the answer's id.
        answers=_last_answer(body.messages, lambda message: "id" in message),
        decisions=decisions,
        loads=said is None and not decisions,
        design=chosen.design,
        role=chosen.role,
    )


def _resumed(entry: Resumed) -> PostedDecision:
    """Return the decision; a cancelled interrupt is a rejection."""
    if entry.status == "resolved" and entry.payload is None:
        raise Invalid("resume: An interrupt that is resolved needs a payload.")
    payload = entry.payload if entry.status == "resolved" and entry.payload else InterruptAnswer(approved=False)
    approval_id, _, call_id = entry.interruptId.partition(":")
    verb: Verb = "reject" if not payload.approved else "approve" if payload.editedArgs is None else "edit"
    args = payload.editedArgs if verb == "edit" else None
    return PostedDecision(approval_id, verb, args=args, reason=payload.reason, call_id=call_id)


def _content_of(message: _AGUIMessage) -> str:
    if not isinstance(message.content, list):
        return validate_text(message.content or "")
    if any(part.type != "text" for part in message.content):
        raise AttachmentsUnsupported
    return validate_text("\n\n".join(part.text for part in message.content))


# --- all three --------------------------------------------------------------------------------------------------------


_POSTED = (PlainTurn, UITurn, AGUITurn)
_REF = "#/components/schemas/{model}"
_FORMS = [{"$ref": _REF.format(model=form.__name__)} for form in _POSTED]
POSTED_SCHEMA = {"requestBody": {"required": True, "content": {"application/json": {"schema": {"anyOf": _FORMS}}}}}
"""The body's schema for the OpenAPI document; `parse_turn` parses it, not FastAPI."""


def posted_definitions() -> dict[str, Any]:
    """Components of the OpenAPI document that `POSTED_SCHEMA` refers to."""
    _, defined = models_json_schema([(form, "validation") for form in _POSTED], ref_template=_REF)
    return defined["$defs"]


def parse_turn(body: bytes) -> TurnRequest:
    """Parse a posted turn of any protocol. Raises `Invalid`, `TooLong` or `AttachmentsUnsupported`."""
    posted = parse_json(body)
    try:
        if "threadId" in posted:
            return parse_ag_ui(posted)
        return parse_ai_sdk(posted) if "messages" in posted else parse_plain(posted)
    except ValidationError as error:
        raise Invalid(_first_problem(error)) from None


def parse_json(body: bytes) -> dict[str, Any]:
    """Return the body's JSON object. Raises `Invalid` if it is not one."""
    try:
        posted = from_json(body)
    except ValueError:
        raise Invalid("The body is not valid JSON.") from None
    if not isinstance(posted, dict):
        raise Invalid("The body must be a JSON object.")
    return posted


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc']) or 'body'}: {first['msg']}."
