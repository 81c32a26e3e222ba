"""Routes of a user's settings, and of all data stored about a user."""

import asyncio
from typing import Annotated, Any, Self

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from qwestly_agent.account import ERASED, erase, export
from qwestly_agent.approvals.act import ActRequest, ChosenLevel, ask
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Invalid
from qwestly_agent.chat.routers.dependencies import TheServices, TheToken, TheUser
from qwestly_agent.domain.approval import Level, lower
from qwestly_agent.domain.job import HeadField
from qwestly_agent.stores.user_settings import NO_SUCH_ZONE, known_time_zones
from qwestly_agent.text.clean import one_line

# --- settings ---------------------------------------------------------------------------------------------------------
# Routes of a user's settings.


router = APIRouter()

BELOW = "It cannot be below the level."

Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}$")]
"""A browser's language tag, such as `pt-BR`."""


def _known_zone(zone: str) -> str:
    if zone not in known_time_zones():
        raise PydanticCustomError("time_zone", NO_SUCH_ZONE)
    return zone


TimeZone = Annotated[str, StringConstraints(max_length=64), AfterValidator(_known_zone)]
"""An IANA time zone, such as `Europe/Lisbon`."""


DocumentName = Annotated[str, AfterValidator(one_line), StringConstraints(max_length=100, strip_whitespace=True)]


class SettingsView(BaseModel):
    level: Level
    ceiling: Level
    """The highest level that can be earned; initially L3. Setting the level resets it."""
    language: Language | None
    """Null until it is set."""
    time_zone: TimeZone | None
    """Null until it is set; mails and approval pages then use UTC."""
    mail_questions: bool
    """True to mail pending approvals; briefings have a separate setting."""
    mail_reminders: bool
    """True to mail a reminder at half of the time."""
    document_name: DocumentName | None
    """The name at the top of documents; null to use that of the profile or a résumé."""
    document_head: tuple[HeadField, ...] | None
    """Fields at the top of documents beside the name; null until they are chosen."""


class ChangedSettings(SettingsView):
    refused: dict[str, str] = {}
    """The reason for each field that was not changed."""


class ChosenSettings(BaseModel):
    """Fields that are omitted, or null, stay unchanged."""

    model_config = ConfigDict(extra="forbid")

    level: Level | None = None
    ceiling: Level | None = None
    language: Language | None = None
    time_zone: TimeZone | None = None
    mail_questions: bool | None = None
    mail_reminders: bool | None = None
    document_name: DocumentName | None = None
    document_head: Annotated[tuple[HeadField, ...], Field(max_length=5)] | None = None

    _refused: dict[str, str] = {}

    @model_validator(mode="wrap")
    @classmethod
    def _take_what_is_right(cls, posted: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        """Ignore fields with invalid values, if others are given. Raises `ValidationError` if none is valid, and for
        unknown fields."""
        try:
            return validate(posted)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False)
            wrong = {str(each["loc"][0]): each["msg"] for each in problems if each["loc"]}
            rest = {name: value for name, value in posted.items() if name not in wrong} if wrong else {}
            if not wrong.keys() <= cls.model_fields.keys() or all(value is None for value in rest.values()):
                raise
        chosen = validate(rest)
        chosen._refused = wrong
        return chosen


@router.get("/api/settings")
async def read_settings(services: TheServices, user_id: TheUser) -> SettingsView:
    """Return the user's level and ceiling, language, time zone and mail settings. Null values were never set:
    initialize them from the browser."""
    standing, kept = await asyncio.gather(services.autonomy.get(user_id), services.user_settings.get(user_id))
    return SettingsView(level=standing.level, ceiling=standing.ceiling, **kept.model_dump(exclude={"variant"}))


@router.put("/api/settings")
async def change_settings(
    chosen: ChosenSettings, services: TheServices, user_id: TheUser, token: TheToken
) -> ChangedSettings:
    """Change the given fields, and return all of them; a field with an invalid value stays unchanged, and is listed in
    `refused`. The level applies from the next turn on, and to actions not executed yet, and ends higher earned levels
    until a ceiling is set again. 422 `invalid` if no given field can be changed, for example because of an unknown time
    zone or a ceiling below the level."""
    refused, level, ceiling = chosen._refused, chosen.level, chosen.ceiling
    changes = chosen.model_dump(exclude={"level", "ceiling"}, exclude_none=True)
    if ceiling is not None:
        floor = level or await services.autonomy.level(user_id)
        if lower(floor, ceiling) != floor:
            if not changes:
                raise Invalid(f"ceiling: {BELOW}")
            # Apply neither: the level was not meant to be set without its ceiling.
            refused, level, ceiling = {**refused, "ceiling": BELOW}, None, None
    now = to_datetime(services.clock())
    if changes:
        await services.user_settings.change(user_id, changes, now)
        await services.briefing_plans.reschedule(user_id, services.clock())
    if level is not None or ceiling is not None:
        await ask(services, ActRequest(token=token, act=ChosenLevel(level=level, ceiling=ceiling)))
    view = await read_settings(services, user_id)
    return ChangedSettings(**view.model_dump(), refused=refused)


# --- account ----------------------------------------------------------------------------------------------------------
# Routes of all data stored about a user.


EXPORTED: dict[int | str, dict[str, Any]] = {
    200: {"description": "The document", "content": {"application/json": {"schema": {"type": "object"}}}}
}


class Erased(BaseModel):
    erased: dict[str, int]
    """Number of documents, by collection."""
    note: str = ERASED


@router.get("/api/me/export", response_class=StreamingResponse, responses=EXPORTED)
async def export_everything(services: TheServices, user_id: TheUser) -> StreamingResponse:
    """Export all data stored about the user as one JSON document, without vectors, task tokens and hashes."""
    headers = {"Content-Disposition": 'attachment; filename="qwestly-agent.json"', "Cache-Control": "no-store"}
    return StreamingResponse(
        await export(services.user_data, services.clock, user_id), media_type="application/json", headers=headers
    )


@router.delete("/api/me")
async def erase_everything(services: TheServices, user_id: TheUser, token: TheToken) -> Erased:
    """Permanently erase all data stored about the user. Running work is stopped first, which can take 30 seconds."""
    return Erased(erased=await erase(services, user_id, token))
