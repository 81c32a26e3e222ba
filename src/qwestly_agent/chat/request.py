"""What a client asks for, in either of the two languages that the body may speak.

Of a posted history only the newest user message is read: the conversation is ours.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints, ValidationError
from pydantic_core import from_json

from qwestly_agent.errors import AttachmentsUnsupported, Invalid, TooLong

LONGEST_MESSAGE_CHARACTERS = 20_000

ClientId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_\-]{1,128}$")]
"""An id that a client minted. No `.` or `$`, which mean something to the database, and no `:`, which separates keys."""
Protocol = Literal["ai_sdk", "plain"]


@dataclass(frozen=True)
class TurnRequest:
    protocol: Protocol
    conversation_id: str | None
    text: str | None
    """The newest user message; None only where an answer is to be made again and the client does not say to what."""
    message_id: str | None
    likely_new: bool
    """Whether the conversation is probably not there yet. A wrong guess costs a round trip, nothing else."""
    regenerate: bool = False
    """Make the last answer again. A message that never reached us is answered for the first time."""
    regenerates: str | None = None
    """The answer that is to be made again, where the client names it."""


class _Plain(BaseModel):
    """`curl -N` and the reference widget: answered with named SSE events."""

    message: str
    conversation_id: ClientId | None = None
    message_id: ClientId | None = None


class _Part(BaseModel):
    type: str
    text: str = ""


class _UIMessage(BaseModel):
    id: ClientId | None = None
    role: str
    parts: list[_Part] = []


class _AISDK(BaseModel):
    """What `useChat` posts: answered with a UI message stream. Of `messages` only the newest user message is read."""

    id: ClientId
    messages: list[Any]
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    messageId: ClientId | None = Field(default=None)  # noqa: N815  the wire's name


POSTED_SCHEMA = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"anyOf": [_Plain.model_json_schema(), _AISDK.model_json_schema()]}}
        },
    }
}
"""For the OpenAPI page: the body is read by `parse_turn`, in either form."""


def parse_turn(body: bytes) -> TurnRequest:
    """Raises `Invalid`, `TooLong` or `AttachmentsUnsupported`."""
    posted = parse_json(body)
    try:
        return _parse_ai_sdk(posted) if "messages" in posted else _parse_plain(posted)
    except ValidationError as error:
        raise Invalid(_first_problem(error)) from None


def parse_json(body: bytes) -> dict[str, Any]:
    """Raises `Invalid` for what is not a JSON object."""
    try:
        posted = from_json(body)
    except ValueError:
        raise Invalid("The body is not valid JSON.") from None
    if not isinstance(posted, dict):
        raise Invalid("The body must be a JSON object.")
    return posted


def _parse_plain(posted: dict[str, Any]) -> TurnRequest:
    plain = _Plain.model_validate(posted)
    return TurnRequest(
        protocol="plain",
        conversation_id=plain.conversation_id,
        text=_checked(plain.message),
        message_id=plain.message_id,
        likely_new=plain.conversation_id is None,
    )


def _parse_ai_sdk(posted: dict[str, Any]) -> TurnRequest:
    body = _AISDK.model_validate(posted)
    regenerate = body.trigger == "regenerate-message"
    newest = _UIMessage.model_validate(body.messages[-1]) if body.messages else None
    said = newest if newest and newest.role == "user" else None
    if said is None and not regenerate:
        raise Invalid("Nothing new was said: the last message must be the user's.")
    return TurnRequest(
        protocol="ai_sdk",
        conversation_id=body.id,
        text=_text_of(said) if said else None,
        message_id=said.id if said else None,
        likely_new=len(body.messages) == 1 and not regenerate,
        regenerate=regenerate,
        regenerates=body.messageId if regenerate else None,
    )


def _text_of(message: _UIMessage) -> str:
    if any(part.type == "file" for part in message.parts):
        raise AttachmentsUnsupported
    return _checked("\n\n".join(part.text for part in message.parts if part.type == "text"))


def _checked(text: str) -> str:
    if len(text) > LONGEST_MESSAGE_CHARACTERS:
        raise TooLong(f"A message can have {LONGEST_MESSAGE_CHARACTERS:,} characters; this one has {len(text):,}.")
    if not text.strip():
        raise Invalid("The message is empty.")
    return text


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc']) or 'body'}: {first['msg']}."
