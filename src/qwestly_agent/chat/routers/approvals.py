"""Routes of what waits for the user, and of how far the agent may go: approvals, drafts, autonomy, the brake."""

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.decide import Decision, settle
from qwestly_agent.approvals.earned import kinds_of
from qwestly_agent.approvals.execute import refresh_outcomes
from qwestly_agent.approvals.pause import PauseStatus
from qwestly_agent.approvals.view import ApprovalList, ApprovalView
from qwestly_agent.approvals.view import list_of as approvals_of
from qwestly_agent.approvals.view import view_of as approval_view_of
from qwestly_agent.base.clock import Cursor, to_datetime
from qwestly_agent.base.traces import flush
from qwestly_agent.chat.conversation_view import (
    AutonomyView,
)
from qwestly_agent.chat.draft_view import DraftDetail
from qwestly_agent.chat.draft_view import detail_of as draft_detail_of
from qwestly_agent.chat.earned_view import EarnedView, earned_view_of
from qwestly_agent.chat.routers.dependencies import TheServices, TheUser, where_from

router = APIRouter()


@router.get("/api/approvals")
async def list_approvals(
    services: TheServices,
    user_id: TheUser,
    state: Literal["waiting", "all"] = "waiting",
    limit: Annotated[int, Query(ge=1, le=100)] = 30,
    after: Cursor | None = None,
) -> ApprovalList:
    """What waits for the user's decision, or is being carried out, the newest first; or all that was ever asked.

    While the brake is on, what waits is `frozen`.
    """
    read = services.approvals.list_open if state == "waiting" else services.approvals.list_all
    found, is_paused = await asyncio.gather(read(user_id, limit + 1, after), services.signals.is_braked(user_id))
    found = await refresh_outcomes(services, found)
    return approvals_of(found, limit, is_paused=is_paused)


@router.get("/api/approvals/{approval_id}")
async def read_approval(approval_id: str, services: TheServices, user_id: TheUser) -> ApprovalView:
    """One approval as it stands now, `frozen` while the brake is on and it waits."""
    found, is_paused = await asyncio.gather(
        services.approvals.get(user_id, approval_id), services.signals.is_braked(user_id)
    )
    [found] = await refresh_outcomes(services, [found])
    return approval_view_of(found, is_paused=is_paused)


@router.post("/api/approvals/{approval_id}/decision")
async def decide_approval(
    approval_id: str, decision: Decision, request: Request, services: TheServices, user_id: TheUser
) -> ApprovalView:
    """Approve, edit (approve with other arguments), revise (not so, but otherwise) or reject what was seen.

    Who decides again sees the first outcome. 409 `changed` where `args_digest` is of something else, 423 `braked`
    where it is frozen.
    """
    where = where_from(request)
    settled = await settle(services, user_id, approval_id, decision, by="queue", where=where)
    await flush(services.traces)
    return approval_view_of(settled)


@router.get("/api/drafts/{draft_id}")
async def read_draft(draft_id: str, services: TheServices, user_id: TheUser) -> DraftDetail:
    """What a card or an About section says, and what was left out and why; at every level, published or not."""
    return draft_detail_of(await services.drafts.get(user_id, draft_id))


@router.get("/api/autonomy")
async def read_autonomy(services: TheServices, user_id: TheUser) -> EarnedView:
    """How far the agent may go: L0 suggest, L1 assist (new users), L2 supervised, L3 autonomous; and what it has earned
    beyond that, for each kind of change that the user decided on."""
    return earned_view_of(*await kinds_of(services, user_id))


@router.put("/api/autonomy")
async def set_autonomy(chosen: AutonomyView, services: TheServices, user_id: TheUser) -> AutonomyView:
    """Holds from the next turn on, and for what is not yet carried out."""
    await services.autonomy.set_level(user_id, chosen.level, to_datetime(services.clock()))
    return chosen


@router.get("/api/brake")
async def read_brake(services: TheServices, user_id: TheUser) -> PauseStatus:
    """Whether the agent may run: running, pausing, paused, or partial (something could not be stopped, or was sent
    and its outcome is not known). The receipt of the last brake is kept."""
    return await pause.status(services.signals, services.sweeps, user_id, services.clock)


@router.post("/api/brake")
async def pull_brake(services: TheServices, user_id: TheUser) -> PauseStatus:
    """Stop everything of this user, and let nothing begin. Answers once nothing runs, or after 30 seconds."""
    return await pause.engage(services.signals, services.sweeps, user_id, services.clock)


@router.delete("/api/brake")
async def release_brake(services: TheServices, user_id: TheUser) -> PauseStatus:
    """Let the agent run again. What was stopped stays stopped, and the receipt of it can still be read. The operators'
    brake is not theirs to release."""
    return await pause.release(services.signals, services.sweeps, user_id, services.clock)
