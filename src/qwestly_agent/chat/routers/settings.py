"""Routes of a user's settings."""

import asyncio
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, StringConstraints

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Invalid
from qwestly_agent.chat.routers.dependencies import TheServices, TheUser
from qwestly_agent.domain.approval import Level
from qwestly_agent.domain.earned import lower
from qwestly_agent.stores.user_settings import NO_SUCH_ZONE, time_zones

router = APIRouter()

Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}$")]
"""A tag as browsers have it: `pt-BR`."""
TimeZone = Annotated[str, StringConstraints(max_length=64)]
"""A name of the IANA database: `Europe/Lisbon`."""


class SettingsView(BaseModel):
    level: Level
    ceiling: Level
    """How far the agent may go where it has earned it; the level switches that off."""
    language: Language | None
    """Null until it is set."""
    time_zone: TimeZone | None
    """Null until it is set; mails and approval pages then say UTC."""


class ChosenSettings(BaseModel):
    """Fields that are left out, or null, stay as they are."""

    model_config = ConfigDict(extra="forbid")

    level: Level | None = None
    ceiling: Level | None = None
    language: Language | None = None
    time_zone: TimeZone | None = None


@router.get("/api/settings")
async def read_settings(services: TheServices, user_id: TheUser) -> SettingsView:
    """The user's level and ceiling, language and time zone. What is null was never set: send what the browser says."""
    standing, kept = await asyncio.gather(services.autonomy.standing(user_id), services.user_settings.get(user_id))
    return SettingsView(
        level=standing.level, ceiling=standing.ceiling, language=kept.language, time_zone=kept.time_zone
    )


@router.put("/api/settings")
async def change_settings(chosen: ChosenSettings, services: TheServices, user_id: TheUser) -> SettingsView:
    """Change what is given, and answer with all. The level holds from the next turn on, and for what is not yet carried
    out, and ends what was earned beyond it until a ceiling is set again. 422 `invalid` for a time zone that does not
    exist, and for a ceiling below the level."""
    if chosen.time_zone is not None and chosen.time_zone not in time_zones():
        raise Invalid(NO_SUCH_ZONE)
    if chosen.ceiling is not None:
        level = chosen.level or await services.autonomy.level(user_id)
        if lower(level, chosen.ceiling) != level:
            raise Invalid("ceiling: It cannot be below the level.")
    now = to_datetime(services.clock())
    if changes := chosen.model_dump(exclude={"level", "ceiling"}, exclude_none=True):
        await services.user_settings.put(user_id, changes, now)
        await services.briefing_plans.plan(user_id, services.clock())
    if chosen.level is not None:
        await services.autonomy.set_level(user_id, chosen.level, now)
    if chosen.ceiling is not None:
        await services.autonomy.set_ceiling(user_id, chosen.ceiling, now)
    return await read_settings(services, user_id)
