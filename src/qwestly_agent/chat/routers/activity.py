"""Routes of the activity feed: what the agent did, is doing and is waiting for."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, BaseModel

from qwestly_agent.approvals.execute import NOT_UNDOABLE, undo
from qwestly_agent.approvals.view import ApprovalView
from qwestly_agent.approvals.view import view_of as approval_view_of
from qwestly_agent.base.errors import ChangedMeanwhile
from qwestly_agent.chat.activity_view import EventList, list_of, position_of, undone_approval, undone_memory
from qwestly_agent.chat.next_steps import NextStep, next_steps
from qwestly_agent.chat.routers.dependencies import TheServices, TheUser
from qwestly_agent.domain.activity import Severity
from qwestly_agent.memory.changes import undo as undo_memory

router = APIRouter()


class EventUndone(BaseModel):
    undone: str
    """The event's id."""
    by: ApprovalView | None = None
    """The record of the undo, if an action was undone; its `status` shows whether it is done."""


@router.get("/api/activity")
async def list_activity(
    services: TheServices,
    user_id: TheUser,
    limit: Annotated[int, Query(ge=1, le=100)] = 30,
    after: Annotated[str | None, Query(max_length=300)] = None,
    since: AwareDatetime | None = None,
    type: Annotated[list[str] | None, Query(max_length=50)] = None,
    severity: Annotated[list[Severity] | None, Query()] = None,
) -> EventList:
    """List events of the last 90 days, newest first; filtered by time (`since`), types and severities, which can each
    be given several times."""
    found = await services.activity.newest(
        user_id,
        limit + 1,
        after=position_of(after) if after else None,
        since=since.timestamp() if since else None,
        types=type or (),
        severities=severity or (),
    )
    return await list_of(services.approvals, services.memories, user_id, found, limit, services.clock())


@router.get("/api/suggestions")
async def list_next_steps(services: TheServices, user_id: TheUser) -> list[NextStep]:
    """Suggest at most three next steps, from pending items and gaps in the profile."""
    return await next_steps(services, user_id)


@router.post("/api/activity/{event_id}/undo")
async def undo_event(event_id: str, services: TheServices, user_id: TheUser) -> EventUndone:
    """Undo the event's effect, once, until `undo_until`. 409 `changed` if it cannot be undone, or was changed since;
    423 `braked`."""
    event = await services.activity.get(user_id, event_id)
    if memory_id := undone_memory(event):
        await undo_memory(services, user_id, memory_id)
        return EventUndone(undone=event_id)
    if approval_id := undone_approval(event):
        return EventUndone(undone=event_id, by=approval_view_of(await undo(services, user_id, approval_id)))
    raise ChangedMeanwhile(NOT_UNDOABLE)
