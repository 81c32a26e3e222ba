"""Routes of briefings and their settings."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.approvals import pause
from qwestly_agent.base.clock import Cursor, Moment
from qwestly_agent.briefings.model import BriefingState
from qwestly_agent.briefings.view import BriefingList, BriefingView, briefing_views
from qwestly_agent.chat.routers.dependencies import TheServices, TheUser
from qwestly_agent.domain.briefing import BriefingSettings, Weekday, run_of

router = APIRouter()


class BriefingSettingsView(BaseModel):
    on: bool
    hour: int
    minute: int
    days: tuple[Weekday, ...]
    """0 is Monday."""
    mail: bool
    """True to send it by mail as well as in the app."""
    quiet: bool
    """True to skip briefings without news."""
    time_zone: str
    """The time zone of `/api/settings`; UTC if none is set."""
    next: Moment | None
    """Time of the next briefing; null while they are off."""


class ChosenBriefingSettings(BaseModel):
    """Fields that are omitted, or null, stay unchanged."""

    model_config = ConfigDict(extra="forbid")

    on: bool | None = None
    hour: Annotated[int | None, Field(ge=0, le=23)] = None
    minute: Annotated[int | None, Field(ge=0, le=59)] = None
    days: Annotated[set[Weekday] | None, Field(min_length=1)] = None
    mail: bool | None = None
    quiet: bool | None = None


class BriefingBegun(BaseModel):
    id: str
    """Id of the briefing, which appears in `GET /api/briefings` within two minutes."""


@router.get("/api/briefings/settings")
async def read_briefing_settings(services: TheServices, user_id: TheUser) -> BriefingSettingsView:
    """Return the time and channels of briefings."""
    plan = await services.briefing_plans.get(user_id)
    at = plan.next.at if plan.next else None
    return BriefingSettingsView(**plan.settings.model_dump(), time_zone=plan.zone, next=at)


@router.put("/api/briefings/settings")
async def change_briefing_settings(
    chosen: ChosenBriefingSettings, services: TheServices, user_id: TheUser
) -> BriefingSettingsView:
    """Change the given fields, and return all of them. The time zone is set with `/api/settings`."""
    now = services.clock()
    changes = chosen.model_dump(exclude_none=True)
    if "days" in changes:
        changes["days"] = sorted(changes["days"])
    assert changes.keys() <= BriefingSettings.model_fields.keys()
    await services.briefing_plans.change(user_id, changes, now)
    await services.briefing_plans.reschedule(user_id, now)
    return await read_briefing_settings(services, user_id)


@router.post("/api/briefings/now", status_code=202)
async def brief_now(services: TheServices, user_id: TheUser) -> BriefingBegun:
    """Create a briefing now, shown only in the app; at most once a minute. 423 `braked`."""
    await pause.check(services.signals, user_id)
    name = run_of(user_id, f"now {int(services.clock() // 60)}")
    given = BriefingState(user_id=user_id, run_id=name, briefing_id=name)
    await services.workflows.start("brief", name, given.out)
    return BriefingBegun(id=name)


@router.get("/api/briefings")
async def list_briefings(
    services: TheServices,
    user_id: TheUser,
    limit: Annotated[int, Query(ge=1, le=30)] = 7,
    after: Cursor | None = None,
) -> BriefingList:
    """List briefings of the last 90 days, newest first."""
    found = await services.briefings.newest(user_id, limit + 1, after)
    cursor = repr(found[limit - 1].created_at) if len(found) > limit else None
    return BriefingList(items=await briefing_views(services, found[:limit], user_id), next=cursor)


@router.get("/api/briefings/{briefing_id}")
async def read_briefing(briefing_id: str, services: TheServices, user_id: TheUser) -> BriefingView:
    """Return a briefing. 404 `not_found` until it is delivered."""
    briefing = await services.briefings.get_delivered(user_id, briefing_id)
    [view] = await briefing_views(services, [briefing], user_id)
    return view


@router.post("/api/briefings/{briefing_id}/read")
async def note_briefing_read(briefing_id: str, services: TheServices, user_id: TheUser) -> BriefingView:
    """Record that the briefing was read; only the first time counts."""
    await services.briefings.get_delivered(user_id, briefing_id)
    await services.briefings.mark_read(user_id, briefing_id, services.clock())
    return await read_briefing(briefing_id, services, user_id)
