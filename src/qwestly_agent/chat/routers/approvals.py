"""Routes of approvals, drafts, autonomy and the brake, and of the activity feed."""

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import AwareDatetime, BaseModel

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.act import ActRequest, ChosenLevel, ask, ask_act, refresh_outcomes
from qwestly_agent.approvals.autonomy import EarnedView, earned_view
from qwestly_agent.approvals.decide import Decision
from qwestly_agent.approvals.execute import NOT_UNDOABLE
from qwestly_agent.approvals.pause import PauseStatus
from qwestly_agent.approvals.view import ApprovalList, ApprovalView, approval_list, approval_view
from qwestly_agent.base.clock import Cursor
from qwestly_agent.base.errors import ChangedMeanwhile
from qwestly_agent.base.traces import flush
from qwestly_agent.cards.drafts import DraftDetail, draft_detail
from qwestly_agent.chat.activity import EventList, event_list, position_of, undone_approval, undone_memory
from qwestly_agent.chat.conversation_view import AutonomyView
from qwestly_agent.chat.home import HomeView, NextStep, home_of, next_steps
from qwestly_agent.chat.routers.dependencies import TheServices, TheToken, TheUser, where_from
from qwestly_agent.domain.activity import Severity
from qwestly_agent.memory.changes import undo as undo_memory

# --- approvals --------------------------------------------------------------------------------------------------------
# Routes of pending decisions and autonomy: approvals, drafts, autonomy, the brake.


router = APIRouter()


@router.get("/api/approvals")
async def list_approvals(
    services: TheServices,
    user_id: TheUser,
    token: TheToken,
    state: Literal["waiting", "all"] = "waiting",
    limit: Annotated[int, Query(ge=1, le=100)] = 30,
    after: Cursor | None = None,
) -> ApprovalList:
    """List approvals that are pending or being executed, newest first; or all approvals.

    While the brake is on, pending ones are `frozen`.
    """
    read = services.approvals.list_open if state == "waiting" else services.approvals.list_all
    found, is_paused = await asyncio.gather(read(user_id, limit + 1, after), services.signals.is_braked(user_id))
    found = await refresh_outcomes(services, found, token)
    return approval_list(found, limit, is_paused=is_paused)


@router.get("/api/approvals/{approval_id}")
async def read_approval(approval_id: str, services: TheServices, user_id: TheUser, token: TheToken) -> ApprovalView:
    """Return an approval in its current state, `frozen` if it is pending while the brake is on."""
    found, is_paused = await asyncio.gather(
        services.approvals.get(user_id, approval_id), services.signals.is_braked(user_id)
    )
    [found] = await refresh_outcomes(services, [found], token)
    return approval_view(found, is_paused=is_paused)


@router.post("/api/approvals/{approval_id}/decision")
async def decide_approval(
    approval_id: str,
    decision: Decision,
    request: Request,
    services: TheServices,
    user_id: TheUser,  # noqa: ARG001
    token: TheToken,
) -> ApprovalView:
    """Approve, edit (approve with other arguments), revise (request changes) or reject the approval that was seen.

    A second decision returns the first outcome. 409 `changed` if `args_digest` is that of another version, 423 `braked`
    if it is frozen.
    """
    asked = ActRequest(token=token, approval_id=approval_id, act=decision, where=where_from(request))
    settled = await ask_act(services, asked)
    await flush(services.traces)
    return approval_view(settled)


@router.get("/api/drafts/{draft_id}")
async def read_draft(draft_id: str, services: TheServices, user_id: TheUser) -> DraftDetail:
    """Return the text of a card or an About section, and what was left out and why; works at every level, whether
    published or not."""
    return draft_detail(await services.drafts.get(user_id, draft_id))


@router.get("/api/autonomy")
async def read_autonomy(services: TheServices, user_id: TheUser) -> EarnedView:
    """Return the autonomy level (L0 suggest, L1 assist (new users), L2 supervised, L3 autonomous), and the level of
    each tool for which a higher level was earned, or approvals with the card opened were counted."""
    return await earned_view(services, user_id)


@router.put("/api/autonomy")
async def set_autonomy(
    chosen: AutonomyView,
    services: TheServices,
    user_id: TheUser,  # noqa: ARG001
    token: TheToken,
) -> AutonomyView:
    """Set the level. It applies from the next turn on, and to actions that were not executed yet."""
    await ask(services, ActRequest(token=token, act=ChosenLevel(level=chosen.level)))
    return chosen


@router.delete("/api/autonomy/{tool}")
async def take_back_autonomy(tool: str, services: TheServices, user_id: TheUser, token: TheToken) -> EarnedView:
    """Revoke the level that the agent earned for this tool: the agent asks again, and counting starts over. 404 if
    there is none."""
    await ask(services, ActRequest(token=token, act=ChosenLevel(takes_back=tool)))
    return await read_autonomy(services, user_id)


@router.get("/api/brake")
async def read_brake(services: TheServices, user_id: TheUser) -> PauseStatus:
    """Return the state of the brake: running, pausing, paused, or partial (something could not be stopped, or was sent
    with an unknown outcome). The receipt of the last brake is kept."""
    return await pause.status(services.signals, services.sweeps, user_id, services.clock)


@router.post("/api/brake")
async def pull_brake(services: TheServices, user_id: TheUser) -> PauseStatus:
    """Stop all of this user's work, and prevent new work. Returns once nothing is running, or after 30 seconds."""
    return await pause.engage(services.signals, services.sweeps, user_id, services.clock)


@router.delete("/api/brake")
async def release_brake(services: TheServices, user_id: TheUser) -> PauseStatus:
    """Let the agent run again. Stopped work stays stopped, and its receipt can still be read. Users cannot release the
    operators' brake."""
    return await pause.release(services.signals, services.sweeps, user_id, services.clock)


# --- activity ---------------------------------------------------------------------------------------------------------
# Routes of the activity feed: what the agent did, is doing and is waiting for.


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
    """List events of the last 90 days, newest first, filtered by time (`since`), types and severities; types and
    severities can be repeated."""
    found = await services.activity.newest(
        user_id,
        limit + 1,
        after=position_of(after) if after else None,
        since=since.timestamp() if since else None,
        types=type or (),
        severities=severity or (),
    )
    return await event_list(services.approvals, services.memories, user_id, found, limit, services.clock())


@router.get("/api/home")
async def read_home(services: TheServices, user_id: TheUser) -> HomeView:
    """Return what needs the user's attention, what is new in the last seven days, and the user's goals. Figures count
    records; figures and lines are those of a briefing for this period."""
    return await home_of(services, user_id)


@router.get("/api/suggestions")
async def list_next_steps(services: TheServices, user_id: TheUser) -> list[NextStep]:
    """Suggest at most three next steps, from pending items and gaps in the profile."""
    return await next_steps(services, user_id)


@router.post("/api/activity/{event_id}/undo")
async def undo_event(event_id: str, services: TheServices, user_id: TheUser, token: TheToken) -> EventUndone:
    """Undo the event's effect, once, until `undo_until`. 409 `changed` if it cannot be undone, or was changed since;
    423 `braked`."""
    event = await services.activity.get(user_id, event_id)
    if memory_id := undone_memory(event):
        await undo_memory(services, user_id, memory_id)
        return EventUndone(undone=event_id)
    if approval_id := undone_approval(event):
        asked = ActRequest(token=token, approval_id=approval_id, act="undo")
        return EventUndone(undone=event_id, by=approval_view(await ask_act(services, asked)))
    raise ChangedMeanwhile(NOT_UNDOABLE)
