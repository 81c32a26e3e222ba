"""The facts behind briefings, their mails and the home page, defined once. Each source reads records of one kind, and
describes them without user text.

To add a source, write a function and add it to `SOURCES`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.briefing import Gathered, Item, Topic
from qwestly_agent.domain.job import STATUS_TOLD, Application, job_name
from qwestly_agent.domain.learning import Lesson, due_questions
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.drafts import Draft, describe_status
from qwestly_agent.stores.interviews import ABANDONED_AFTER_SECONDS, StoredInterview
from qwestly_agent.stores.interviews import describe_status as title_of_interview

MOST_INTERVIEWS = 5
MOST_RECORDS = 1_000
"""Maximum number of records that a source reads, newest first. No user has that many between two briefings, so the
figures count all records; only the view limits the lines."""

SOURCE_SECONDS = 15.0

Source: TypeAlias = Callable[[Services, str, float], Awaitable[list[Item]]]
"""Takes the user, and the time since which records count as new."""


async def gather_sources(services: Services, user_id: str, since: Mapping[str, float]) -> Gathered:
    """Return the items of all sources since these times, queried in parallel within `SOURCE_SECONDS`. A source that
    fails, hangs or returns invalid items is listed as missing."""
    now = services.clock()
    told = await asyncio.gather(
        *(_ask(services, name, source, user_id, since[name]) for name, source in SOURCES.items())
    )
    found = {name: items for name, items in zip(SOURCES, told, strict=True) if items is not None}
    return Gathered(
        items=tuple(each for items in found.values() for each in items),
        missing=tuple(name for name in SOURCES if name not in found),
        marks={name: min(now, max((each.at for each in items), default=since[name])) for name, items in found.items()},
        as_of=dict.fromkeys(found, now),
    )


async def _ask(services: Services, name: str, source: Source, user_id: str, since: float) -> list[Item] | None:
    """Return the source's items; None if it failed."""
    try:
        async with asyncio.timeout(SOURCE_SECONDS):
            return [_checked(each, name) for each in await source(services, user_id, since)]
    except Exception as error:
        services.logger.warning(Event.REQUEST_FAILED, extra={"source": name, **cause_of(error)})
        return None


def _checked(item: Item, source: str) -> Item:
    """Return the item. Raises `ValueError` if it has no record, or the name of another source."""
    if item.source != source or not item.records or not all(item.records):
        raise ValueError
    return item


async def approvals(services: Services, user_id: str, since: float) -> list[Item]:
    return await _pending(services.approvals, user_id, since, "approvals")


async def questions(services: Services, user_id: str, since: float) -> list[Item]:
    return await _pending(services.approvals, user_id, since, "questions")


async def drafts(services: Services, user_id: str, since: float) -> list[Item]:
    """List running drafts, and those that ended since then."""
    touched = await services.drafts.list_changed_since(user_id, since, 0)
    running = [each for each in await services.drafts.list_active(user_id, MOST_RECORDS) if each.status == "running"]
    ended = [each for each in touched if each.status in _ENDED and each.updated_at > since]
    return [_of_draft(each, since) for each in [*running, *ended[-MOST_RECORDS:]]]


async def activity(services: Services, user_id: str, since: float) -> list[Item]:
    """List effects that were executed or failed since then, each once, with its value."""
    found = await services.activity.newest(user_id, MOST_RECORDS, since=since, types=_CARRIED_OUT)
    # An outcome that was unknown at first is in the approval's last event.
    last = {str(each.data.get("approval_id", each.id)): each for each in reversed(found) if each.at > since}
    told = {name: each for name, each in last.items() if not (_is_told_elsewhere(each) or _is_withdrawn(each))}
    about = {each.id: each.about for each in await services.approvals.get_many(user_id, told)} if told else {}
    return [_of_event(each, about.get(name, "")) for name, each in reversed(told.items())]


async def memories(services: Services, user_id: str, since: float) -> list[Item]:
    """Return one item for everything that was remembered since then; the content is shown only on the user's page."""
    found = await services.memories.newest(user_id, MOST_RECORDS)
    new = [(each.id, each.created_at.timestamp()) for each in found if each.created_at]
    records = tuple(memory_id for memory_id, at in new if at > since)
    if not records:
        return []
    return [
        Item(
            id=f"memories:{records[0]}",
            source="memories",
            topic="remembered",
            at=max(at for _, at in new),
            title="Remembered " + ("something" if len(records) == 1 else f"{len(records)} things") + " that you said",
            records=records,
        )
    ]


async def lessons(services: Services, user_id: str, since: float) -> list[Item]:
    """List lessons with questions to repeat, at most ten questions a day, until they are answered."""
    found, settings = await asyncio.gather(
        services.lessons.newest(user_id, MOST_RECORDS, status="ready"), services.user_settings.get(user_id)
    )
    due = due_questions(found, services.clock(), settings.zone)
    lessons = {lesson.id: lesson for lesson, _ in due}
    return [_of_lesson(each, [n for lesson, n in due if lesson.id == each.id], since) for each in lessons.values()]


async def new_lessons(services: Services, user_id: str, since: float) -> list[Item]:
    """List lessons that became ready since then, until all their questions are answered."""
    found = await services.lessons.newest(user_id, MOST_RECORDS, status="ready")
    return [
        Item(
            id=f"new_lessons:{each.id}",
            source="new_lessons",
            topic="done",
            at=each.updated_at,
            title=f"Your lesson is ready: {each.title}",
            records=(each.id,),
        )
        for each in found
        if each.stage == "reading" and each.updated_at > since
    ]


async def matches(services: Services, user_id: str, since: float) -> list[Item]:
    """List new jobs found since then that are still open, best first."""
    found = await services.job_matches.list_new(user_id, MOST_RECORDS, since)
    closed = await services.adverts.closed_of([each.advert for each in found], services.clock())
    return [
        _item(
            "matches", each.id, "found", each.found_at, f"New job: {job_name(each.advert.title, each.advert.company)}"
        )
        for each in found
        if each.advert_id not in closed
    ]


async def applications(services: Services, user_id: str, since: float) -> list[Item]:
    """List applications whose status changed since then."""
    touched = await services.applications.newest(user_id, MOST_RECORDS)
    return [_of_application(each) for each in touched if _changed_at(each) > since and each.status != "preparing"]


async def follow_ups(services: Services, user_id: str, since: float) -> list[Item]:
    """List due steps of applications, until they are done."""
    due = await services.applications.due_steps(user_id, services.clock(), MOST_RECORDS)
    return [_of_step(each, at, since, services.clock()) for each, at in due]


async def interviews(services: Services, user_id: str, since: float) -> list[Item]:
    """List interviews in progress with their drafts, and those that ended since then."""
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
        lessons,
        new_lessons,
        matches,
        applications,
        activity,
        drafts,
        interviews,
        memories,
    )
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


async def _pending(approvals: Approvals, user_id: str, since: float, source: str) -> list[Item]:
    """List pending approvals of any age: `questions` are about memories, `approvals` are all others."""
    waiting = await approvals.list_open(user_id, MOST_RECORDS)
    return [
        _item(source, each.id, "needs_you", each.created_at, each.about, new=each.created_at > since)
        for each in waiting
        if each.status == "pending" and (each.kind == "memory") == (source == "questions")
    ]


def _item(source: str, record: str, topic: Topic, at: float, title: str, **more: Any) -> Item:
    return Item(id=f"{source}:{record}", source=source, topic=topic, at=at, title=title, records=(record,), **more)


def _of_draft(draft: Draft, since: float) -> Item:
    topic, at = _ENDED.get(draft.status, "under_way"), draft.updated_at
    return _item("drafts", draft.id, topic, at, describe_status(draft), new=at > since)


def _of_event(event: ActivityEvent, about: str) -> Item:
    """Return the item of an event. `about` is the current proposal of the event's approval, with its value."""
    title = f"{event.title.partition(':')[0]}: {about}" if about else event.title
    return _item("activity", event.id, _CARRIED_OUT[event.type], event.at, title)


def _of_lesson(lesson: Lesson, numbers: Sequence[int], since: float) -> Item:
    due = [lesson.practices[number].due_at for number in numbers]
    title = f"Answer {len(due)} question{'' if len(due) == 1 else 's'} of your lesson: {lesson.title}"
    return _item("lessons", lesson.id, "needs_you", max(due), title, due_at=min(due), new=max(due) > since)


def _is_told_elsewhere(event: ActivityEvent) -> bool:
    """True for events that the items of applications, drafts and memories already report."""
    kind, is_drafted = event.data.get("kind"), "draft_id" in event.data
    return event.type == "approval.done" and (kind in ("application", "memory") or (kind == "card" and is_drafted))


def _is_withdrawn(event: ActivityEvent) -> bool:
    """True for an approval that ended before anybody decided, because the user replaced or forgot its subject."""
    return event.type == "approval.changed" and event.data.get("decided_by") == "nobody"


def _changed_at(application: Application) -> float:
    return application.history[-1].at if application.history else application.created_at


def _of_application(application: Application) -> Item:
    title = f"{STATUS_TOLD[application.status]}: {application.name}"
    due_at = application.next_at if application.status == "interview" else None
    return _item("applications", application.id, "changed", _changed_at(application), title, due_at=due_at)


def _of_step(application: Application, due_at: float, since: float, now: float) -> Item:
    # A step that was already due when it was planned counts as new since it was planned.
    at = max(due_at, application.updated_at)
    title = f"{application.name}: {application.next_step or application.reminder(now)}"
    moment = application.next_at if application.status == "interview" else due_at
    return _item("follow_ups", application.id, "needs_you", at, title, due_at=moment, new=at > since)


def _of_interview(kept: StoredInterview, since: float) -> Item:
    topic, at = "done" if kept.interview.ended else "under_way", kept.last_used
    return _item("interviews", kept.conversation_id, topic, at, title_of_interview(kept), new=at > since)
