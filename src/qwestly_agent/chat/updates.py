"""Updates to a user outside of turns: drafts in progress, approvals and their outcomes, the brake.

Each item is its current state and not a change, so receiving one twice does no harm.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Literal, Protocol, TypeVar

from pydantic import BaseModel, Field

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.pause import Pause, PauseStatus
from qwestly_agent.approvals.view import ApprovalView, view_of
from qwestly_agent.base.clock import Clock
from qwestly_agent.chat.draft_view import DraftView
from qwestly_agent.chat.draft_view import view_of as draft_view_of
from qwestly_agent.domain.approval import Approval
from qwestly_agent.services import HasApprovals, HasClock, HasConversations, HasDrafts, HasSignals, HasSweeps
from qwestly_agent.stores.drafts import Draft, Drafts


class UpdateServices(HasApprovals, HasClock, HasConversations, HasDrafts, HasSignals, HasSweeps, Protocol): ...


T = TypeVar("T", Approval, Draft)

MOST_ITEMS = 100
FAILED_LATELY_SECONDS = 86_400.0
OVERLAP_SECONDS = 5.0
"""Clocks differ and writes take time: items slightly older than the cursor are sent again."""


class ApprovalUpdate(BaseModel):
    type: Literal["approval"] = "approval"
    id: str
    at: float
    """Seconds since the epoch."""
    approval: ApprovalView


class DraftUpdate(BaseModel):
    type: Literal["draft"] = "draft"
    id: str
    at: float
    draft: DraftView


class BrakeUpdate(BaseModel):
    type: Literal["brake"] = "brake"
    id: Literal["brake"] = "brake"
    at: float
    brake: PauseStatus


Update = Annotated[ApprovalUpdate | DraftUpdate | BrakeUpdate, Field(discriminator="type")]


class Updates(BaseModel):
    items: list[Update]
    cursor: str
    """Pass it as `after` next time. An item can come twice, with the same `id` and `at`."""
    active: bool
    """True if a turn or a draft runs: poll again soon. What only waits for a person changes seldom."""


async def updates(services: UpdateServices, user_id: str, after: float | None) -> Updates:
    """Updates since the cursor; without one, what runs or waits now, and each conversation's last draft if it
    failed."""
    if after is None:
        reading = services.approvals.waiting(user_id, MOST_ITEMS), _drafts_now(services.drafts, services.clock, user_id)
    else:
        reading = (
            _touched(services.approvals.touched_since, user_id, after),
            _touched(services.drafts.touched_since, user_id, after),
        )
    running = services.conversations.running(user_id, services.clock()), services.drafts.running(user_id)
    approvals, drafts, brake, turns, drafting = await asyncio.gather(
        *reading, pause.read(services.signals, user_id), *running
    )
    status = brake.status(services.clock())
    if status.state in ("pausing", "partial"):
        status = await pause.status(services.signals, services.sweeps, user_id, services.clock)
    items: list[Update] = [
        *(_approval_update(each, brake) for each in await _with_frozen(services, user_id, approvals, brake, after)),
        *(DraftUpdate(id=each.id, at=each.updated_at, draft=draft_view_of(each)) for each in drafts),
        BrakeUpdate(at=status.since or 0.0, brake=status),
    ]
    items.sort(key=lambda item: item.at)
    # A full page does not reach the newest item: set the cursor to its end, so that no item is skipped.
    full = [each[-1].updated_at for each in (approvals, drafts) if after is not None and len(each) == MOST_ITEMS]
    cursor = min([*full, max(services.clock(), *(item.at for item in items))])
    return Updates(items=items, cursor=repr(cursor), active=bool(turns or drafting))


async def _with_frozen(
    services: UpdateServices, user_id: str, approvals: list[Approval], brake: Pause, after: float | None
) -> list[Approval]:
    """These approvals, with all that wait if the brake was turned on or off since."""
    if after is None or brake.changed_at < after - OVERLAP_SECONDS:
        return approvals
    known = {each.id for each in approvals}
    waiting = await services.approvals.waiting(user_id, MOST_ITEMS)
    return [*approvals, *(each for each in waiting if each.id not in known)]


def _approval_update(approval: Approval, brake: Pause) -> ApprovalUpdate:
    """A pending approval changes with the brake as well: it is frozen, or no longer."""
    at = max(approval.updated_at, brake.changed_at) if approval.status == "pending" else approval.updated_at
    return ApprovalUpdate(id=approval.id, at=at, approval=view_of(approval, is_paused=brake.is_on))


async def _drafts_now(drafts: Drafts, clock: Clock, user_id: str) -> list[Draft]:
    """Drafts that run or wait, and each conversation's newest draft if it failed."""
    under_way, lately = await asyncio.gather(
        drafts.under_way(user_id, MOST_ITEMS),
        drafts.touched_since(user_id, clock() - FAILED_LATELY_SECONDS, MOST_ITEMS),
    )
    last = {each.conversation_id: each for each in lately}
    return [*under_way, *(each for each in last.values() if each.status == "failed")]


async def _touched(read: Callable[[str, float, int], Awaitable[list[T]]], user_id: str, after: float) -> list[T]:
    found = await read(user_id, after - OVERLAP_SECONDS, MOST_ITEMS)
    # Otherwise a full page of items within the overlap would be sent for ever.
    stands = len(found) == MOST_ITEMS and found[-1].updated_at <= after
    return await read(user_id, after, MOST_ITEMS) if stands else found
