"""Updates to a user outside of turns: events, drafts in progress, approvals and their outcomes, the brake.

A poll reads only the activity feed and the records of new events. Each item is a current state, or an event with its
id, so receiving one twice does no harm.
"""

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, Field

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.execute import refresh_outcomes
from qwestly_agent.approvals.pause import Pause, PauseStatus
from qwestly_agent.approvals.view import ApprovalView, view_of
from qwestly_agent.base.clock import Clock, Moment, to_datetime
from qwestly_agent.base.errors import Invalid
from qwestly_agent.cards.drafts import DraftView
from qwestly_agent.cards.drafts import view_of as draft_view_of
from qwestly_agent.chat.activity_view import EventView, views_of
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.approval import SENT, Approval, sha256_hex
from qwestly_agent.services import Services
from qwestly_agent.stores.activity import CopiedEvent
from qwestly_agent.stores.drafts import Draft, Drafts

T = TypeVar("T", Approval, Draft)


MOST_ITEMS = 100
MOST_EVENTS = 500
"""Maximum events that a poll reads."""
MOST_TOLD = 150
"""Maximum events that a cursor names as sent. If more were sent within the overlap, the overlap is shortened."""
CARRIED_OUT = frozenset({*SENT, "approved", "executing"})
"""Statuses of decided records that are not done; a workflow starts them moments later."""
SOON_SECONDS = 120.0
"""Time after sending an effect during which frequent polls are useful; an unknown outcome can last for two days."""
FAILED_LATELY_SECONDS = 86_400.0
OVERLAP = timedelta(seconds=10)
"""An event may become readable after a later one, so this period is read again."""


class ApprovalUpdate(BaseModel):
    type: Literal["approval"] = "approval"
    id: str
    at: Moment
    approval: ApprovalView


class DraftUpdate(BaseModel):
    type: Literal["draft"] = "draft"
    id: str
    at: Moment
    draft: DraftView


class BrakeUpdate(BaseModel):
    type: Literal["brake"] = "brake"
    id: Literal["brake"] = "brake"
    at: Moment
    brake: PauseStatus


class ActivityUpdate(BaseModel):
    type: Literal["activity"] = "activity"
    id: str
    at: Moment
    activity: EventView


Update = Annotated[ApprovalUpdate | DraftUpdate | BrakeUpdate | ActivityUpdate, Field(discriminator="type")]


class Updates(BaseModel):
    items: list[Update]
    cursor: str
    """Opaque: pass it as `after` next time. An item can appear twice, with the same `id` and `at`."""
    active: bool
    """True if a draft or an effect is in progress, or if a turn was running at the last read: poll again soon. Pending
    items and long-unknown outcomes change rarely."""


# --- the cursor -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cursor:
    """The client's position. As text: `<milliseconds>.<flags>.<hash>.<hash>…`."""

    since: datetime
    """Start of the next poll, by the database's clock: the overlap before the last event that was sent."""
    sent: tuple[str, ...] = ()
    """Short hashes of the events copied since then that were sent to the client."""
    is_active: bool = False
    is_pausing: bool = False
    """True if the brake's receipt was not complete."""

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Parse a cursor that a client sent. Raises `Invalid`."""
        if not re.fullmatch(r"[0-9]{1,14}\.[ap]{0,2}(\.[0-9a-f]{10})*", text):
            raise Invalid("after: That is not a cursor of this list. Leave it out to begin anew.")
        moment, flags, *told = text.split(".")
        return cls(to_datetime(int(moment) / 1000), tuple(told), "a" in flags, "p" in flags)

    def __str__(self) -> str:
        flags = ("a" if self.is_active else "") + ("p" if self.is_pausing else "")
        return ".".join((str(round(self.since.timestamp() * 1000)), flags, *self.sent))

    def advance(self, copied: Sequence[CopiedEvent]) -> "Cursor":
        """Advance past these events, ordered by copy time, all copied since `since`."""
        if not copied:
            return replace(self, sent=())
        again = [each for each in copied if each.copied_at >= copied[-1].copied_at - OVERLAP]
        told = again[-MOST_TOLD:]
        begin = told[0].copied_at if len(told) < len(again) else copied[-1].copied_at - OVERLAP
        return Cursor(max(self.since, begin), tuple(_short(each.event.id) for each in told))


def _short(event_id: str) -> str:
    return sha256_hex(event_id)[:10]


# --- polls ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Read:
    """The records that a poll has read in addition to the feed."""

    approvals: Sequence[Approval]
    drafts: Sequence[Draft]
    brake: Pause
    turns: Collection[str]
    """Running turns."""
    tells_brake: bool
    news: Sequence[EventView] = ()


async def updates(services: Services, user_id: str, after: str | None) -> Updates:
    """Return the updates since the cursor; without one, running and pending work, and each conversation's last draft if
    it failed. A poll without news, while nothing runs, is one find. Raises `Invalid`."""
    if after is None:
        # First the feed, then the state: changes in between are reported by the next poll.
        last = await services.activity.latest_copied(user_id, MOST_TOLD)
        cursor = Cursor(to_datetime(0)).advance(last[::-1])
        return await _answer(services, user_id, cursor, await _read_state(services, user_id))
    cursor = Cursor.parse(after)
    found = await services.activity.copied_since(user_id, cursor.since, MOST_EVENTS)
    # The laptop's database compares dates to the second.
    copied = [each for each in found if each.copied_at >= cursor.since]
    news = [each.event for each in copied if _short(each.event.id) not in cursor.sent]
    if not (news or cursor.is_active or cursor.is_pausing):
        return Updates(items=[], cursor=after, active=False)
    return await _answer(services, user_id, cursor.advance(copied), await _read_named(services, user_id, cursor, news))


async def _read_state(services: Services, user_id: str) -> _Read:
    approvals, drafts, brake, turns = await asyncio.gather(
        services.approvals.list_open(user_id, MOST_ITEMS),
        _drafts_now(services.drafts, services.clock, user_id),
        pause.read(services.signals, user_id),
        services.conversations.list_running_runs(user_id, services.clock()),
    )
    return _Read(approvals, drafts, brake, turns, tells_brake=True)


async def _read_named(services: Services, user_id: str, cursor: Cursor, news: Sequence[ActivityEvent]) -> _Read:
    """Read the records named by these events, and running work."""
    tells_brake = cursor.is_pausing or any(each.type.startswith("brake.") for each in news)
    named, drafts, under_way, brake, turns, views = await asyncio.gather(
        services.approvals.get_many(user_id, _ids("approval_id", news)),
        services.drafts.get_many(user_id, _ids("draft_id", news)),
        services.drafts.list_active(user_id, MOST_ITEMS),
        pause.read(services.signals, user_id),
        services.conversations.list_running_runs(user_id, services.clock()),
        views_of(services.approvals, services.memories, user_id, news, services.clock()),
    )
    running = [each for each in under_way if each.status == "running"]
    # The brake freezes pending approvals, and its release unfreezes them.
    waiting = await services.approvals.list_open(user_id, MOST_ITEMS) if tells_brake or cursor.is_active else []
    sent = await refresh_outcomes(services, [each for each in waiting if each.status in CARRIED_OUT])
    told = _once([*named, *(waiting if tells_brake else ()), *sent])
    return _Read(told, _once([*drafts, *running]), brake, turns, tells_brake, views)


async def _answer(services: Services, user_id: str, cursor: Cursor, read: _Read) -> Updates:
    status = read.brake.status(services.clock())
    is_pausing = status.state in ("pausing", "partial")
    if is_pausing:
        status = await pause.status(services.signals, services.sweeps, user_id, services.clock)
        is_pausing = status.state in ("pausing", "partial")
    items: list[Update] = [
        *(_approval_update(each, read.brake) for each in read.approvals),
        *(DraftUpdate(id=each.id, at=each.updated_at, draft=draft_view_of(each)) for each in read.drafts),
        *(ActivityUpdate(id=each.id, at=each.at, activity=each) for each in read.news),
    ]
    if read.tells_brake or is_pausing:
        items.append(BrakeUpdate(at=read.brake.changed_at, brake=status))
    items.sort(key=lambda item: item.at)
    is_drafting = any(each.status == "running" for each in read.drafts)
    is_sending = any(_ends_soon(each, services.clock()) for each in read.approvals)
    active = bool(read.turns) or is_drafting or is_sending
    cursor = replace(cursor, is_active=active, is_pausing=is_pausing)
    return Updates(items=items, cursor=str(cursor), active=active)


def _ends_soon(approval: Approval, now: float) -> bool:
    """True if it is being executed, and was decided or sent recently."""
    since = approval.begun_at or approval.decided_at or approval.created_at
    return approval.status in CARRIED_OUT and now < since + SOON_SECONDS


def _ids(name: str, events: Sequence[ActivityEvent]) -> set[str]:
    return {str(each.data[name]) for each in events if name in each.data}


def _once(found: Sequence[T]) -> list[T]:
    return list({each.id: each for each in found}.values())


def _approval_update(approval: Approval, brake: Pause) -> ApprovalUpdate:
    """Return the update. A pending approval also changes with the brake, which freezes it."""
    at = max(approval.updated_at, brake.changed_at) if approval.status == "pending" else approval.updated_at
    return ApprovalUpdate(id=approval.id, at=at, approval=view_of(approval, is_paused=brake.is_on))


async def _drafts_now(drafts: Drafts, clock: Clock, user_id: str) -> list[Draft]:
    """Return running and pending drafts, and each conversation's newest draft if it failed or was stopped by a
    pause."""
    under_way, lately = await asyncio.gather(
        drafts.list_active(user_id, MOST_ITEMS),
        drafts.list_changed_since(user_id, clock() - FAILED_LATELY_SECONDS, MOST_ITEMS),
    )
    last = {each.conversation_id: each for each in lately}
    return [*under_way, *(each for each in last.values() if each.status in ("failed", "stopped"))]
