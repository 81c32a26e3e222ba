"""Parsing of a posted turn, in one of three protocols: plain, the AI SDK's, or AG-UI.

Of a posted history the newest message is read for the user's text, and the AI SDK's others for answers to approvals
that still wait: our stored conversation counts.
"""

from typing import Any

from pydantic import ValidationError
from pydantic.json_schema import models_json_schema
from pydantic_core import from_json

from qwestly_agent.base.errors import Invalid
from qwestly_agent.chat.parse_ag_ui import AGUITurn, parse_ag_ui
from qwestly_agent.chat.parse_ai_sdk import UITurn, parse_ai_sdk
from qwestly_agent.chat.parse_plain import PlainTurn, parse_plain
from qwestly_agent.chat.turn_request import TurnRequest

_POSTED = (PlainTurn, UITurn, AGUITurn)
_REF = "#/components/schemas/{model}"
_FORMS = [{"$ref": _REF.format(model=form.__name__)} for form in _POSTED]
POSTED_SCHEMA = {"requestBody": {"required": True, "content": {"application/json": {"schema": {"anyOf": _FORMS}}}}}
"""The body's schema in the OpenAPI document; `parse_turn` reads it, not FastAPI."""


def posted_definitions() -> dict[str, Any]:
    """Components of the OpenAPI document that `POSTED_SCHEMA` refers to."""
    _, defined = models_json_schema([(form, "validation") for form in _POSTED], ref_template=_REF)
    return defined["$defs"]


def parse_turn(body: bytes) -> TurnRequest:
    """Raises `Invalid`, `TooLong` or `AttachmentsUnsupported`."""
    posted = parse_json(body)
    try:
        if "threadId" in posted:
            return parse_ag_ui(posted)
        return parse_ai_sdk(posted) if "messages" in posted else parse_plain(posted)
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


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc']) or 'body'}: {first['msg']}."
