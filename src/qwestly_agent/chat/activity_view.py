"""An event as shown to its user: its reason, its permission, and until when it can be undone."""

from collections.abc import Mapping, Sequence
from math import isfinite, nan

from pydantic import BaseModel

from qwestly_agent.base.clock import Moment
from qwestly_agent.base.errors import Invalid
from qwestly_agent.domain.activity import ActivityEvent, Role, Severity
from qwestly_agent.domain.approval import LEVEL_NAMES
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.memories import Memories
from qwestly_agent.workflows import WORKFLOWS


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
    """For an approval: the current proposal with its value ("Change your location to Lisbon"); empty for all other
    events, and if it is gone. The events of one action share their `approval_id`."""
    why: str
    """The reason and the permission; empty if the title contains them."""
    run_id: str | None
    data: Mapping[str, str | int | tuple[str, ...]]
    """Ids, numbers and enumerated words, such as `approval_id`, `tool`, `level`, `decided_by`."""
    undo_until: Moment | None
    """Until when `POST /api/activity/{id}/undo` works; null if it does not."""


class EventList(BaseModel):
    items: list[EventView]
    next: str | None
    """Cursor, opaque text: pass it as `after`; null at the end."""


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
    "autonomy.taken_back": "You said no to such a change, edited it or undid it: what was earned for it has ended.",
    "approval.mails_ended": _MAILS_ENDED,
    "briefing.mails_ended": _MAILS_ENDED,
    "support.looked": "Support looks only for a reason, and each look is listed here. What you forgot stays hidden.",
} | {name: reason for each in WORKFLOWS for name, reason in each.reasons.items()}
"""Reasons by an event's type or its subject."""
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


async def views_of(
    approvals: Approvals, memories: Memories, user_id: str, events: Sequence[ActivityEvent], now: float
) -> list[EventView]:
    """Return the views of these events, in order."""
    memory_ids = {memory_id for each in events if (memory_id := undone_memory(each))}
    approval_ids = {str(approval_id) for each in events if (approval_id := each.data.get("approval_id"))}
    until, about = dict[str, float](), dict[str, str]()
    for memory in await memories.get_many(user_id, list(memory_ids)) if memory_ids else []:
        if memory.status in ("active", "unchecked"):
            until[memory.id] = memory.undo_until
    for approval in await approvals.get_many(user_id, approval_ids) if approval_ids else []:
        until[approval.id], about[approval.id] = approval.undo_until or 0.0, approval.about
    return [_view_of(each, until, about, now) for each in events]


async def list_of(
    approvals: Approvals, memories: Memories, user_id: str, found: Sequence[ActivityEvent], limit: int, now: float
) -> EventList:
    """Return a page of events. `found` was read with `limit` + 1, to detect further ones."""
    items = await views_of(approvals, memories, user_id, found[:limit], now)
    return EventList(items=items, next=_cursor(found[limit - 1]) if len(found) > limit else None)


def _cursor(last: ActivityEvent) -> str:
    return f"{last.at!r}~{last.id}"


def position_of(cursor: str) -> tuple[float, str]:
    """Return time and id of the last event of the previous page. Raises `Invalid`."""
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


def _view_of(event: ActivityEvent, until: Mapping[str, float], about: Mapping[str, str], now: float) -> EventView:
    """`until` is the end of the time to undo, by the id of the memory or approval; `about` is by the approval's id."""
    undo_until = until.get(undone_memory(event) or undone_approval(event) or "", 0.0)
    return EventView(
        **event.model_dump(exclude={"user_id"}),
        about=about.get(str(event.data.get("approval_id")), ""),
        why=_why(event),
        undo_until=undo_until if undo_until > now else None,
    )
