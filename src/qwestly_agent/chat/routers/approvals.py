"""Routes of what waits for the user, and of how far the agent may go: approvals, drafts, autonomy, the brake."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.decide import Decision
from qwestly_agent.approvals.pause import PauseStatus, RunsOf
from qwestly_agent.approvals.settle import settle
from qwestly_agent.approvals.view import ApprovalList, ApprovalView
from qwestly_agent.approvals.view import list_of as approvals_of
from qwestly_agent.approvals.view import view_of as approval_view_of
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.chat.draft_view import DraftDetail
from qwestly_agent.chat.draft_view import detail_of as draft_detail_of
from qwestly_agent.chat.routers.dependencies import TheServices, TheUser, where_from
from qwestly_agent.chat.view import (
    AutonomyView,
)

router = APIRouter()


@router.get("/api/approvals")
async def list_approvals(
    services: TheServices,
    user_id: TheUser,
    state: Literal["waiting", "all"] = "waiting",
    limit: Annotated[int, Query(ge=1, le=100)] = 30,
    after: float | None = None,
) -> ApprovalList:
    """What waits for the user's decision, or is being carried out, the newest first; or all that was ever asked."""
    read = services.approvals.waiting if state == "waiting" else services.approvals.all
    return approvals_of(await read(user_id, limit + 1, after), limit)


@router.post("/api/approvals/{approval_id}/decision")
async def decide_approval(
    approval_id: str, decision: Decision, request: Request, services: TheServices, user_id: TheUser
) -> ApprovalView:
    """Approve, edit (approve with other arguments), revise (not so, but otherwise) or reject what was seen.

    Who decides again sees the first outcome. 409 `changed` where `args_digest` is of something else, 423 `braked`.
    """
    where = where_from(request)
    return approval_view_of(await settle(services, user_id, approval_id, decision, by="queue", where=where))


@router.get("/api/drafts/{draft_id}")
async def read_draft(draft_id: str, services: TheServices, user_id: TheUser) -> DraftDetail:
    """What a card or an About section says, and what was left out and why; at every level, published or not."""
    return draft_detail_of(await services.drafts.get(user_id, draft_id))


@router.get("/api/autonomy")
async def read_autonomy(services: TheServices, user_id: TheUser) -> AutonomyView:
    """How far the agent may go: L0 suggest, L1 assist (new users), L2 supervised, L3 autonomous."""
    return AutonomyView(level=await services.autonomy.level(user_id))


@router.put("/api/autonomy")
async def set_autonomy(chosen: AutonomyView, services: TheServices, user_id: TheUser) -> AutonomyView:
    """Holds from the next turn on, and for what is not yet carried out."""
    await services.autonomy.set_level(user_id, chosen.level, to_datetime(services.clock()))
    return chosen


@router.get("/api/brake")
async def read_brake(services: TheServices, user_id: TheUser) -> PauseStatus:
    """Whether the agent may run: running, pausing, paused, or partial (something could not be stopped)."""
    return await pause.status(services.signals, user_id)


@router.post("/api/brake")
async def pull_brake(services: TheServices, user_id: TheUser) -> PauseStatus:
    """Stop everything of this user, and let nothing begin. Answers once nothing runs, or after 30 seconds."""
    runs = RunsOf(user_id, services.conversations, services.messages, services.drafts, services.approvals)
    return await pause.engage(services.signals, user_id, runs, services.clock)


@router.delete("/api/brake")
async def release_brake(services: TheServices, user_id: TheUser) -> PauseStatus:
    """Let the agent run again. What was stopped stays stopped. The operators' brake is not theirs to release."""
    await services.signals.brake_off(user_id)
    return await pause.status(services.signals, user_id)
