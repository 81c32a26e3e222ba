"""Propose changes to the user's data at Qwestly."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed

from qwestly_agent.action import to_json_types
from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import proposal_tool
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.approvals.view import format_value
from qwestly_agent.domain.approval import Confidence
from qwestly_agent.domain.candidate import Preference, ProfileField
from qwestly_agent.profile import INGEST_LINKEDIN_PROFILE, UPDATE_PREFERENCE, UPDATE_PROFILE_FIELD, Value
from qwestly_agent.services import AnyAction
from qwestly_agent.stores.candidate_data import Profiles
from qwestly_agent.text.clean import is_pasted

Why = Annotated[str, Field(max_length=500)]
MOST_ALTERNATIVES = 3
AS_VALUE = WithJsonSchema({"type": "array", "items": {}})
"""Leaves out the types of each alternative, because the model already reads them at `value`."""

_LINKEDIN_PROFILE = re.compile(
    r"(?<![^\s(\[<\"'“‘])https://(?:[a-z]{2,3}\.)?linkedin\.com/in/[A-Za-z0-9_%-]{1,200}"
    r"(?=[/?#]|[.,;:!)\]>\"'”’]*(?:\s|\Z))"  # the complete name, because a part may be another person's
)


async def update_profile_field(
    ctx: RunContext[AgentDeps],  # noqa: ARG001
    field: ProfileField,
    value: Value,
    rationale: Why = "",
    alternatives: Annotated[list[Value], Field(max_length=MOST_ALTERNATIVES), AS_VALUE] = [],  # noqa: B006
    confidence: Confidence | None = None,
) -> Proposal:
    """Propose a new value for one field of the user's profile.

    Args:
        field: Which field.
        value: The whole new value: text for headline, location and summary; a list of texts for skills and languages;
            a number for years_of_experience; a list of {school, degree, year} for education.
        rationale: Why, for the user.
        alternatives: Up to three other whole values to choose from.
        confidence: How sure you are that they want it.
    """
    args = {"field": field, "value": value}
    others = _others(UPDATE_PROFILE_FIELD, args, alternatives)
    return Proposal(UPDATE_PROFILE_FIELD, args, rationale, alternatives=others, confidence=confidence)


async def update_preference(
    ctx: RunContext[AgentDeps],  # noqa: ARG001
    name: Preference,
    value: str | list[str],
    rationale: Why = "",
    alternatives: Annotated[list[str | list[str]], Field(max_length=MOST_ALTERNATIVES), AS_VALUE] = [],  # noqa: B006
    confidence: Confidence | None = None,
) -> Proposal:
    """Propose a new value for one of the user's job preferences.

    Args:
        name: Which preference.
        value: The whole new value: text for work_mode and availability, else a list of texts.
        rationale: Why, for the user.
        alternatives: Up to three other whole values to choose from.
        confidence: How sure you are that they want it.
    """
    args = {"name": name, "value": value}
    others = _others(UPDATE_PREFERENCE, args, alternatives)
    return Proposal(UPDATE_PREFERENCE, args, rationale, alternatives=others, confidence=confidence)


def _others(action: AnyAction, args: Mapping[str, Any], values: Sequence[Any]) -> tuple[str, ...]:
    """Return the alternatives as text. Raises `Invalid` for one that the action does not accept."""
    accepted = [action.parse({**args, "value": value}).value for value in values]
    words = (format_value(to_json_types(value)) for value in accepted)
    return tuple(dict.fromkeys(each for each in words if each != format_value(to_json_types(args["value"]))))


async def ingest_linkedin_profile(ctx: RunContext[AgentDeps], force_refresh: bool = False) -> Proposal:
    """Propose to read the user's LinkedIn profile and keep it: the address they typed in this conversation, or the one
    in their profile.

    Args:
        force_refresh: Read it even if it was read lately.
    """
    deps = ctx.deps
    url = _typed(deps.turn.user_messages) or (await deps.feature(Profiles).linkedin(deps.user_id)).get("url")
    if not url:
        raise ToolFailed("No LinkedIn address is known. Ask the user to type that of their profile.")
    return Proposal(INGEST_LINKEDIN_PROFILE, {"url": url, "refresh": force_refresh})


def _typed(user_messages: tuple[str, ...]) -> str | None:
    """Return the last LinkedIn profile URL that the user typed. Pasted text is ignored: it may name another person."""
    typed = [found for text in user_messages if not is_pasted(text) for found in _LINKEDIN_PROFILE.findall(text)]
    return typed[-1] if typed else None


TOOLS = [
    proposal_tool(update_profile_field, UPDATE_PROFILE_FIELD, label="Proposing a change to your profile…"),
    proposal_tool(update_preference, UPDATE_PREFERENCE, label="Proposing a change to your preferences…"),
    proposal_tool(ingest_linkedin_profile, INGEST_LINKEDIN_PROFILE, label="Proposing to read your LinkedIn profile…"),
]
