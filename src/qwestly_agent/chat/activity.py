"""Events as shown to their user, and updates outside of turns."""

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import isfinite, nan
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, Field

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.act import refresh_outcomes
from qwestly_agent.approvals.pause import Pause, PauseStatus
from qwestly_agent.approvals.view import ApprovalView, approval_view
from qwestly_agent.base.clock import Clock, Moment, Page, to_datetime
from qwestly_agent.base.errors import Invalid
from qwestly_agent.cards.drafts import DraftView, draft_view
from qwestly_agent.domain.activity import ActivityEvent, Role, Severity
from qwestly_agent.domain.approval import LEVEL_NAMES, SENT, Approval, sha256_hex
from qwestly_agent.domain.learning import Lesson
from qwestly_agent.services import Services
from qwestly_agent.stores.activity import CopiedEvent
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.drafts import Draft, Drafts
from qwestly_agent.stores.memories import Memories
from qwestly_agent.workflows import WORKFLOWS

# --- activity view ----------------------------------------------------------------------------------------------------
# An event as shown to its user: its reason, its permission, and the time until which it can be undone.


class EventView(BaseModel):
    id: str
    at: Moment
    type: str
    """Subject and verb, such as "approval.done"."""
    role: Role
    """The actor: the agent in a conversation (chat), interviewing (interview), drafting (cards), with memories
    (memory), briefings (briefing), résumés (resumes), teaching (learning) or job searches (jobs); the user;
    operators."""
    severity: Severity
    title: str
    about: str
    """For an approval: the current proposal with its value ("Change your location to Lisbon"), for a memory: its text;
    empty for all other events, and if it is gone. The events of one action share their `approval_id`."""
    why: str
    """The reason and the permission; empty if the title contains them."""
    run_id: str | None
    data: Mapping[str, str | int | tuple[str, ...]]
    """Ids, numbers and enumerated words, such as `approval_id`, `tool`, `level`, `decided_by`."""
    undo_until: Moment | None
    """Until when `POST /api/activity/{id}/undo` works; null if it does not."""


class EventList(Page[EventView]):
    pass


_ANSWERS: Mapping[str, str] = {
    "ask": "{at}, your agent asks you first.",
    "queue": "{at}, this waits in your queue while your agent goes on.",
}
_DECIDED_BY: Mapping[str, str] = {
    "chat": "You decided this in a conversation.",
    "words": "You decided this in a conversation, in your own words.",
    "queue": "You decided this in your queue.",
    "link": "You decided this by the link in a mail.",
    "level": "{at}, your agent may do this without asking, as you asked for it.",
    "undo": "You asked for it where you are signed in.",
    "nobody": "No one decided.",
}
_OWN, _EARNED = "At your level ({level})", "At the level that your agent earned for this ({level})"

_MAILS_ENDED = (
    "The link in one of those emails ended them. If it wasn’t you, your mail program may have opened it: you can turn "
    "them on again in your settings."
)
_REASONS: Mapping[str, str] = {
    "application": "You changed it in your list.",
    "application.due": "The step that you planned is due, or it was sent a week ago.",
    "application.preparing": "You chose this job.",
    "autonomy.ceiling": "You chose it in your settings.",
    "autonomy.taken_back": "You said no to such a change, edited it, undid it, or took it back in your settings.",
    "approval.mails_ended": _MAILS_ENDED,
    "briefing.mails_ended": _MAILS_ENDED,
    "support.looked": "Support looks only for a reason, and each look is listed here. What you forgot stays hidden.",
} | {name: reason for each in WORKFLOWS for name, reason in each.reasons.items()}
"""Reasons, by an event's type or its subject."""
_BY_VERB: Mapping[str, str] = {
    "deleted": "You deleted it.",
    "stopped": "Pause stops what runs.",
}


def _why(event: ActivityEvent) -> str:
    subject, _, verb = event.type.partition(".")
    if told := _REASONS.get(event.type) or (
        _BY_VERB.get(verb) or _REASONS.get(subject) if subject != "approval" else ""
    ):
        return told
    decided_by, answer = event.data.get("decided_by"), event.data.get("answer")
    sentence = _DECIDED_BY.get(str(decided_by)) or _ANSWERS.get(str(answer), "")
    at = (_EARNED if event.data.get("earned") else _OWN).format(
        level=LEVEL_NAMES.get(str(event.data.get("level")), "not known")
    )
    return sentence.format(at=at)


async def event_views(
    approvals: Approvals, memories: Memories, user_id: str, events: Sequence[ActivityEvent], now: float
) -> list[EventView]:
    """Return the views of these events, in order."""
    memory_ids = {memory_id for each in events if (memory_id := undone_memory(each))}
    approval_ids = {str(approval_id) for each in events if (approval_id := each.data.get("approval_id"))}
    until, about = dict[str, float](), dict[str, str]()
    for memory in await memories.get_many(user_id, list(memory_ids)) if memory_ids else []:
        if memory.status in ("active", "unchecked"):
            until[memory.id], about[memory.id] = memory.undo_until, memory.content
    for approval in await approvals.get_many(user_id, approval_ids) if approval_ids else []:
        until[approval.id], about[approval.id] = approval.undo_until or 0.0, approval.about
    return [_event_view(each, until, about, now) for each in events]


async def event_list(
    approvals: Approvals, memories: Memories, user_id: str, found: Sequence[ActivityEvent], limit: int, now: float
) -> EventList:
    """Return a page of events. `found` was read with `limit` + 1, to detect whether there are more."""
    items = await event_views(approvals, memories, user_id, found[:limit], now)
    return EventList(items=items, next=_cursor(found[limit - 1]) if len(found) > limit else None)


def _cursor(last: ActivityEvent) -> str:
    return f"{last.at!r}~{last.id}"


def position_of(cursor: str) -> tuple[float, str]:
    """Return the time and id of the last event of the previous page. Raises `Invalid`."""
    moment, _, event_id = cursor.partition("~")
    try:
        at = float(moment)
    except ValueError:
        at = nan
    if not isfinite(at):
        raise Invalid("after: That is not a cursor of this list. Leave it out to begin anew.")
    return at, event_id


def undone_memory(event: ActivityEvent) -> str | None:
    """Return the id of the memory that undoing this event affects; None for other events."""
    memory_id = event.data.get("memory_id")
    return str(memory_id) if memory_id and event.type in ("memory.remembered", "memory.corrected") else None


def undone_approval(event: ActivityEvent) -> str | None:
    """Return the id of the approval that undoing this event affects; None for other events."""
    return str(event.data["approval_id"]) if event.type == "approval.done" else None


def _event_view(event: ActivityEvent, until: Mapping[str, float], about: Mapping[str, str], now: float) -> EventView:
    """`until` is the end of the undo period, and `about` the text; both are keyed by the id of the memory or
    approval."""
    undo_until = until.get(undone_memory(event) or undone_approval(event) or "", 0.0)
    return EventView(
        **event.model_dump(exclude={"user_id"}),
        about=about.get(undone_memory(event) or str(event.data.get("approval_id")), ""),
        why=_why(event),
        undo_until=undo_until if undo_until > now else None,
    )


# --- updates ----------------------------------------------------------------------------------------------------------
# Updates to a user outside of turns: events, drafts in progress, approvals and their outcomes, the brake.
#
# A poll reads only the activity feed and the records of new events. Each item is a current state, or an event with its
# id, so receiving one twice does no harm.


T = TypeVar("T", Approval, Draft)


MOST_ITEMS = 100
MOST_EVENTS = 500
"""Maximum number of events that a poll reads."""
MOST_TOLD = 150
"""Maximum number of events that a cursor names as sent. If more were sent within the overlap, the overlap is
shortened."""
CARRIED_OUT = frozenset({*SENT, "approved", "executing"})
"""Statuses of records that were approved but are not done; a workflow starts executing moments after the decision."""
SOON_SECONDS = 120.0
"""Seconds after sending an effect during which frequent polls are useful; an unknown outcome can last for two days."""
FAILED_LATELY_SECONDS = 86_400.0
OVERLAP = timedelta(seconds=10)
"""An event may become readable after a later one, so each poll reads this period again."""


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
    """True if a draft, a lesson or an effect is in progress, or if a turn was running at the last read: poll again
    soon. Pending items and long-unknown outcomes change rarely."""


# --- the cursor -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cursor:
    """The client's position. As text: `<milliseconds>.<flags>.<hash>.<hash>…`."""

    since: datetime
    """Start of the next poll, by the database's clock: `OVERLAP` before the last event that was sent."""
    sent: tuple[str, ...] = ()
    """Short hashes of the events since then that were sent to the client."""
    is_active: bool = False
    is_pausing: bool = False
    """True if the brake's receipt was incomplete."""

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
        """Advance past these events: all those copied since `since`, ordered by copy time."""
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
    lessons: Sequence[Lesson]
    """Lessons that are being written."""
    tells_brake: bool
    news: Sequence[EventView] = ()


async def updates(services: Services, user_id: str, after: str | None, token: str = "") -> Updates:
    """Return the updates since the cursor; without a cursor, running and pending work, and each conversation's last
    draft if it failed. When there is no news and nothing runs, a poll is a single query. With the user's `token`,
    outcomes that are due are queried. Raises `Invalid`."""
    if after is None:
        # Read the feed before the state, so that the next poll reports changes made in between.
        last = await services.activity.latest_copied(user_id, MOST_TOLD)
        cursor = Cursor(to_datetime(0)).advance(last[::-1])
        return await _answer(services, user_id, cursor, await _read_state(services, user_id))
    cursor = Cursor.parse(after)
    found = await services.activity.copied_since(user_id, cursor.since, MOST_EVENTS)
    # The local database compares dates to the second.
    copied = [each for each in found if each.copied_at >= cursor.since]
    news = [each.event for each in copied if _short(each.event.id) not in cursor.sent]
    if not (news or cursor.is_active or cursor.is_pausing):
        return Updates(items=[], cursor=after, active=False)
    read = await _read_named(services, user_id, cursor, news, token)
    return await _answer(services, user_id, cursor.advance(copied), read)


async def _read_state(services: Services, user_id: str) -> _Read:
    approvals, drafts, brake, (turns, lessons) = await asyncio.gather(
        services.approvals.list_open(user_id, MOST_ITEMS),
        _drafts_now(services.drafts, services.clock, user_id),
        pause.read(services.signals, user_id),
        _read_running(services, user_id),
    )
    return _Read(approvals, drafts, brake, turns, lessons, tells_brake=True)


async def _read_running(services: Services, user_id: str) -> tuple[Collection[str], Sequence[Lesson]]:
    now = services.clock()
    return await asyncio.gather(
        services.conversations.list_running_runs(user_id, now), services.lessons.list_under_way(user_id, now)
    )


async def _read_named(
    services: Services, user_id: str, cursor: Cursor, news: Sequence[ActivityEvent], token: str
) -> _Read:
    """Read the records named by these events, and the running work."""
    tells_brake = cursor.is_pausing or any(each.type.startswith("brake.") for each in news)
    named, drafts, under_way, brake, (turns, lessons), views = await asyncio.gather(
        services.approvals.get_many(user_id, _ids("approval_id", news)),
        services.drafts.get_many(user_id, _ids("draft_id", news)),
        services.drafts.list_active(user_id, MOST_ITEMS),
        pause.read(services.signals, user_id),
        _read_running(services, user_id),
        event_views(services.approvals, services.memories, user_id, news, services.clock()),
    )
    running = [each for each in under_way if each.status == "running"]
    # The brake freezes pending approvals, and its release unfreezes them.
    waiting = await services.approvals.list_open(user_id, MOST_ITEMS) if tells_brake or cursor.is_active else []
    sent = await refresh_outcomes(services, [each for each in waiting if each.status in CARRIED_OUT], token)
    told = _once([*named, *(waiting if tells_brake else ()), *sent])
    return _Read(told, _once([*drafts, *running]), brake, turns, lessons, tells_brake, views)


async def _answer(services: Services, user_id: str, cursor: Cursor, read: _Read) -> Updates:
    status = read.brake.status(services.clock())
    is_pausing = status.state in ("pausing", "partial")
    if is_pausing:
        status = await pause.status(services.signals, services.sweeps, user_id, services.clock)
        is_pausing = status.state in ("pausing", "partial")
    items: list[Update] = [
        *(_approval_update(each, read.brake) for each in read.approvals),
        *(DraftUpdate(id=each.id, at=each.updated_at, draft=draft_view(each)) for each in read.drafts),
        *(ActivityUpdate(id=each.id, at=each.at, activity=each) for each in read.news),
    ]
    if read.tells_brake or is_pausing:
        items.append(BrakeUpdate(at=read.brake.changed_at, brake=status))
    items.sort(key=lambda item: item.at)
    is_drafting = any(each.status == "running" for each in read.drafts)
    is_sending = any(_ends_soon(each, services.clock()) for each in read.approvals)
    active = bool(read.turns or read.lessons) or is_drafting or is_sending
    cursor = replace(cursor, is_active=active, is_pausing=is_pausing)
    return Updates(items=items, cursor=str(cursor), active=active)


def _ends_soon(approval: Approval, now: float) -> bool:
    """True if the approval is being executed, and was decided or sent recently."""
    since = approval.begun_at or approval.decided_at or approval.created_at
    return approval.status in CARRIED_OUT and now < since + SOON_SECONDS


def _ids(name: str, events: Sequence[ActivityEvent]) -> set[str]:
    return {str(each.data[name]) for each in events if name in each.data}


def _once(found: Sequence[T]) -> list[T]:
    return list({each.id: each for each in found}.values())


def _approval_update(approval: Approval, brake: Pause) -> ApprovalUpdate:
    """Return the approval's update. A pending approval also changes with the brake, which freezes it."""
    at = max(approval.updated_at, brake.changed_at) if approval.status == "pending" else approval.updated_at
    return ApprovalUpdate(id=approval.id, at=at, approval=approval_view(approval, is_paused=brake.is_on))


async def _drafts_now(drafts: Drafts, clock: Clock, user_id: str) -> list[Draft]:
    """Return running and pending drafts, and each conversation's newest draft if it failed or was stopped by a
    pause."""
    under_way, lately = await asyncio.gather(
        drafts.list_active(user_id, MOST_ITEMS),
        drafts.list_changed_since(user_id, clock() - FAILED_LATELY_SECONDS, MOST_ITEMS),
    )
    last = {each.conversation_id: each for each in lately}
    return [*under_way, *(each for each in last.values() if each.status in ("failed", "stopped"))]
