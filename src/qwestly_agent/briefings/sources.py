"""What a briefing asks: each source reads records of one kind and tells of them in sentences that quote nobody.

Another workflow adds a source by a function and a row of `SOURCES`.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeAlias

from qwestly_agent.domain.activity import Event
from qwestly_agent.domain.briefing import Item, Topic
from qwestly_agent.services import HasActivity, HasApprovals, HasDrafts
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.drafts import Draft, title_of


class SourceServices(HasActivity, HasApprovals, HasDrafts, Protocol): ...


MOST_RECORDS = 50
"""Of one source, the newest."""

Source: TypeAlias = Callable[[SourceServices, str, float], Awaitable[list[Item]]]
"""Given the user and the moment up to which it was told before."""


async def approvals(services: SourceServices, user_id: str, since: float) -> list[Item]:
    return await _pending(services.approvals, user_id, since, "approvals")


async def questions(services: SourceServices, user_id: str, since: float) -> list[Item]:
    return await _pending(services.approvals, user_id, since, "questions")


async def drafts(services: SourceServices, user_id: str, since: float) -> list[Item]:
    """Drafts that run, and those that ended since."""
    touched = await services.drafts.touched_since(user_id, since, 0)
    running = [each for each in await services.drafts.under_way(user_id, MOST_RECORDS) if each.status == "running"]
    ended = [each for each in touched if each.status in _ENDED and each.updated_at > since]
    return [_of_draft(each, since) for each in [*running, *ended[-MOST_RECORDS:]]]


async def activity(services: SourceServices, user_id: str, since: float) -> list[Item]:
    """What was carried out since, or could not be."""
    found = await services.activity.newest(user_id, MOST_RECORDS, since=since, types=_CARRIED_OUT)
    return [_of_event(each) for each in found if each.at > since]


async def memories(services: SourceServices, user_id: str, since: float) -> list[Item]:
    """One item for all that was remembered since: what it says stays on the user's page."""
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


SOURCES: Mapping[str, Source] = {each.__name__: each for each in (approvals, questions, drafts, activity, memories)}

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
}
_REMEMBERED = ("memory.remembered", "memory.corrected", "memory.extracted", "memory.merged")


async def _pending(approvals: Approvals, user_id: str, since: float, source: str) -> list[Item]:
    """Those that wait, whenever they were asked: `questions` are about memories, `approvals` are the others."""
    waiting = await approvals.waiting(user_id, MOST_RECORDS)
    return [
        Item(
            id=f"{source}:{each.id}",
            source=source,
            topic="needs_you",
            at=each.created_at,
            title=f"Waits for your decision: {each.preview.title}",
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
        title=title_of(draft),
        records=(draft.id,),
        new=draft.updated_at > since,
    )


def _of_event(event: Event) -> Item:
    return Item(
        id=f"activity:{event.id}",
        source="activity",
        topic=_CARRIED_OUT[event.type],
        at=event.at,
        title=event.title,
        records=(event.id,),
    )
