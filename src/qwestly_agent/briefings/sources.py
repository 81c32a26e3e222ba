"""The sources of a briefing. Each reads records of one kind, and describes them without user text.

To add a source, write a function and add it to `SOURCES`.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.briefing import Item, Topic
from qwestly_agent.domain.job import FOLLOW_UP, Application, ApplicationStatus
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.drafts import Draft, describe_status
from qwestly_agent.stores.interviews import ABANDONED_AFTER_SECONDS, StoredInterview
from qwestly_agent.stores.interviews import describe_status as title_of_interview

MOST_INTERVIEWS = 5
MOST_RECORDS = 1_000
"""Maximum number of records that a source reads, the newest. No user has as many between two briefings, so that the
figures count the records; the view alone limits the lines."""

Source: TypeAlias = Callable[[Services, str, float], Awaitable[list[Item]]]
"""Takes the user, and the time up to which earlier briefings covered the source."""


async def approvals(services: Services, user_id: str, since: float) -> list[Item]:
    return await _pending(services.approvals, user_id, since, "approvals")


async def questions(services: Services, user_id: str, since: float) -> list[Item]:
    return await _pending(services.approvals, user_id, since, "questions")


async def drafts(services: Services, user_id: str, since: float) -> list[Item]:
    """List running drafts, and those that ended since."""
    touched = await services.drafts.list_changed_since(user_id, since, 0)
    running = [each for each in await services.drafts.list_active(user_id, MOST_RECORDS) if each.status == "running"]
    ended = [each for each in touched if each.status in _ENDED and each.updated_at > since]
    return [_of_draft(each, since) for each in [*running, *ended[-MOST_RECORDS:]]]


async def activity(services: Services, user_id: str, since: float) -> list[Item]:
    """List effects that were executed or failed since."""
    found = await services.activity.newest(user_id, MOST_RECORDS, since=since, types=_CARRIED_OUT)
    told = (each for each in found if each.at > since and not (_is_of_application(each) or _is_withdrawn(each)))
    return [_of_event(each) for each in told]


async def memories(services: Services, user_id: str, since: float) -> list[Item]:
    """Return one item for all memories since; their content is shown only on the user's page."""
    found = await services.activity.newest(user_id, MOST_RECORDS, since=since, types=_REMEMBERED)
    new = [each for each in found if each.at > since]
    if not new:
        return []
    title = new[0].title if len(new) == 1 else f"Remembered or corrected {len(new)} things that you said"
    records = tuple(each.id for each in new)
    newest = max(each.at for each in new)
    return [
        Item(
            id=f"memories:{records[0]}", source="memories", topic="remembered", at=newest, title=title, records=records
        )
    ]


async def matches(services: Services, user_id: str, since: float) -> list[Item]:
    """List jobs found since, best first."""
    found = await services.job_matches.list_new(user_id, MOST_RECORDS, since)
    return [
        Item(
            id=f"matches:{each.id}",
            source="matches",
            topic="found",
            at=each.found_at,
            title=f"A job that may suit you: {_job(each.advert.title, each.advert.company)}",
            records=(each.id,),
        )
        for each in found
    ]


async def applications(services: Services, user_id: str, since: float) -> list[Item]:
    """List applications whose status changed since."""
    touched = await services.applications.newest(user_id, MOST_RECORDS)
    return [_of_application(each) for each in touched if _changed_at(each) > since and each.status in _CHANGED]


async def follow_ups(services: Services, user_id: str, since: float) -> list[Item]:
    """List due steps of applications, repeated until they are done."""
    due = await services.applications.due_steps(user_id, services.clock(), MOST_RECORDS)
    return [_of_step(each, at, since, services.clock()) for each, at in due]


async def interviews(services: Services, user_id: str, since: float) -> list[Item]:
    """List interviews in progress with their drafts, and those that ended since."""
    found = await services.interviews.newest(user_id, MOST_INTERVIEWS)
    begun = [each for each in found if each.interview.turns]
    left = services.clock() - ABANDONED_AFTER_SECONDS
    return [
        _of_interview(each, since)
        for each in begun
        if each.last_used > since or (not each.interview.ended and each.last_used > left)
    ]


SOURCES: Mapping[str, Source] = {
    each.__name__: each
    for each in (
        approvals,
        questions,
        follow_ups,
        matches,
        applications,
        activity,
        drafts,
        interviews,
        memories,
    )
}

_CHANGED: Mapping[ApplicationStatus, str] = {
    "applied": "Your application was sent",
    "interview": "You were asked to an interview",
    "offer": "You have an offer",
    "rejected": "Your application was turned down",
    "withdrawn": "You withdrew your application",
    "closed": "You closed your application",
}

_ENDED: Mapping[str, Topic] = {
    "drafted": "done",
    "published": "done",
    "rejected": "done",
    "expired": "failed",
    "stopped": "failed",
    "failed": "failed",
}
_CARRIED_OUT: Mapping[str, Topic] = {
    "approval.done": "done",
    "approval.failed": "failed",
    "approval.unknown": "failed",
    "approval.changed": "failed",
    "approval.expired": "failed",
    "jobs.failed": "failed",
    "lesson.failed": "failed",
    "resume.failed": "failed",
}
_REMEMBERED = ("memory.remembered", "memory.corrected", "memory.extracted", "memory.merged")


async def _pending(approvals: Approvals, user_id: str, since: float, source: str) -> list[Item]:
    """List pending approvals of any age: `questions` are about memories, `approvals` are all others."""
    waiting = await approvals.list_open(user_id, MOST_RECORDS)
    return [
        Item(
            id=f"{source}:{each.id}",
            source=source,
            topic="needs_you",
            at=each.created_at,
            title=each.about,
            records=(each.id,),
            new=each.created_at > since,
        )
        for each in waiting
        if each.status == "pending" and (each.kind == "memory") == (source == "questions")
    ]


def _of_draft(draft: Draft, since: float) -> Item:
    return Item(
        id=f"drafts:{draft.id}",
        source="drafts",
        topic=_ENDED.get(draft.status, "under_way"),
        at=draft.updated_at,
        title=describe_status(draft),
        records=(draft.id,),
        new=draft.updated_at > since,
    )


def _of_event(event: ActivityEvent) -> Item:
    return Item(
        id=f"activity:{event.id}",
        source="activity",
        topic=_CARRIED_OUT[event.type],
        at=event.at,
        title=event.title,
        records=(event.id,),
    )


def _is_of_application(event: ActivityEvent) -> bool:
    """True for effects on an application, which `applications` reports."""
    return event.type == "approval.done" and event.data.get("kind") == "application"


def _is_withdrawn(event: ActivityEvent) -> bool:
    """True for an approval that ended before anybody decided, because the user replaced or forgot what it was about."""
    return event.type == "approval.changed" and event.data.get("decided_by") == "nobody"


def _changed_at(application: Application) -> float:
    return application.history[-1].at if application.history else application.created_at


def _of_application(application: Application) -> Item:
    return Item(
        id=f"applications:{application.id}",
        source="applications",
        topic="changed",
        at=_changed_at(application),
        title=f"{_CHANGED[application.status]}: {_job(application.title, application.company)}",
        records=(application.id,),
    )


def _of_step(application: Application, due_at: float, since: float, now: float) -> Item:
    is_interview = application.status == "interview"
    near = "Your interview has passed: how did it go?" if application.is_interviewed(now) else "Your interview is near"
    step = application.next_step or (near if is_interview else FOLLOW_UP)
    # A step that was already due when it was planned counts as new since then.
    at = max(due_at, application.updated_at)
    return Item(
        id=f"follow_ups:{application.id}",
        source="follow_ups",
        topic="needs_you",
        at=at,
        title=f"{_job(application.title, application.company)}: {step}",
        records=(application.id,),
        due_at=due_at,
        new=at > since,
    )


def _of_interview(kept: StoredInterview, since: float) -> Item:
    return Item(
        id=f"interviews:{kept.conversation_id}",
        source="interviews",
        topic="done" if kept.interview.ended else "under_way",
        at=kept.last_used,
        title=title_of_interview(kept),
        records=(kept.conversation_id,),
        new=kept.last_used > since,
    )


def _job(title: str, company: str) -> str:
    return f"{title} at {company}" if company else title
