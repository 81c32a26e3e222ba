"""`agent_drafts`: career documents in progress, with their evidence and the progress shown to the user."""

import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.activity import ActivityEvent, Severity
from qwestly_agent.platform.collection import ALL_ACTIONS, Document, Expires, MongoCollection, index
from qwestly_agent.platform.records import Records, as_text, compare_and_set

RETENTION = timedelta(days=90)
COLLECTION = MongoCollection(
    "agent_drafts",
    Expires(RETENTION),
    index("user_updated", "user_id", "updated_at"),
    index("status", "status"),
    holds="cards, profile texts, résumés and letters, with their evidence",
    events=(
        "draft.started",
        "draft.waiting",
        "draft.drafted",
        "draft.published",
        "draft.rejected",
        "draft.expired",
        "draft.stopped",
        "draft.failed",
    ),
    events_note="`started` for drafts written in a turn: once part of it is stored",
    reader=ALL_ACTIONS,
)

DraftKind: TypeAlias = Literal["card", "about", "headlines", "profile_text", "resume", "cover_letter"]
DraftStatus: TypeAlias = Literal[
    "unfinished", "running", "waiting", "drafted", "published", "rejected", "expired", "stopped", "failed"
]

GATHERING = "Gathering evidence"
"""The label of a new draft."""
TAILORED: frozenset[DraftKind] = frozenset({"resume", "cover_letter"})
"""Kinds that are written for one job, and private until the user applies with them."""
UNFINISHED: DraftStatus = "unfinished"
"""Status of a text that is written within a turn. Model answers are stored, so that the next attempt continues from
them."""
ACTIVE_STATUSES: frozenset[DraftStatus] = frozenset({"running", "waiting"})


class Draft(BaseModel):
    """A career document in progress. Times are in seconds since the epoch."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    id: str
    user_id: str
    run_id: str
    conversation_id: str | None
    kind: DraftKind = "card"
    job_id: str | None = None
    """Id of the job that the document is written for."""
    job: str = ""
    """Its title and company: "Payments Engineer, Adyen"."""
    style: str
    status: DraftStatus = "running"
    label: str
    """Progress for the user, such as "Drafting 3 of 6 sections"."""
    round: int = 1
    """Incremented each time a person requests changes."""
    approval_id: str | None = None
    """The pending or last decided approval."""
    news: bool = False
    """True if the draft has ended and its conversation has not reported that yet."""
    flagged: bool = False
    """True if the draft rests on something that the user has forgotten since."""
    created_at: float
    updated_at: float
    events_written: int = 0
    """The number of its events, which the next one is named after."""
    parts: Mapping[str, Any] = {}
    """The pipeline's data by name: evidence, sections, the checked card. Each is a field of its own in the document,
    since parallel states write different parts."""


_PART, _PIPELINE = "part_", "card-"


def pipeline_id_of(draft_id: str) -> str:
    """Return a draft's pipeline id, which is also the name of its execution."""
    return f"{_PIPELINE}{draft_id}"


def draft_id_of(pipeline_id: str) -> str:
    return pipeline_id.removeprefix(_PIPELINE)


class Drafts(Records[Draft]):
    collection, model, missing = COLLECTION, Draft, "There is no such draft."
    listed = tuple(Draft.model_fields.keys() - {"id", "parts"})

    def events_of(self, before: Draft | None, after: Draft) -> Sequence[ActivityEvent]:
        is_same = before and (before.status, before.approval_id) == (after.status, after.approval_id)
        return [] if is_same else [_event(after)]

    async def update(self, user_id: str, draft_id: str, now: float, **fields: Any) -> None:
        """Update fields such as status, label, round and approval_id. When the draft ends, its conversation reports it
        once. Raises `NotFound` and `Unavailable`."""
        changes = {**fields, "updated_at": now}
        if "status" in fields:
            await self._set_status(user_id, draft_id, changes)
        else:
            await super().save_parts(user_id, draft_id, **changes)

    async def update_unless_moved(self, known: Draft, now: float, **fields: Any) -> None:
        """Like `update`, but change nothing if the draft's status is no longer as in `known`."""
        await self._set_status(known.user_id, known.id, {**fields, "updated_at": now}, known.status)

    async def _set_status(
        self, user_id: str, draft_id: str, changes: Document, only_from: DraftStatus | None = None
    ) -> None:
        async def read() -> Draft:
            found = await self._list({"user_id": user_id, "_id": draft_id}, [("_id", 1)], 1, self.listed)
            if not found:
                raise NotFound(self.missing)
            return found[0]

        def changed(before: Draft) -> Draft | None:
            if only_from and before.status != only_from:
                return None
            after = before.model_copy(update=changes)
            # A text written within a turn is reported by the tool of that turn.
            ends = before.status not in (after.status, UNFINISHED) and after.status not in ACTIVE_STATUSES
            return after.model_copy(update={"news": True}) if ends and before.conversation_id else after

        async def write(before: Draft, after: Draft) -> Draft | None:
            as_read = before.events_written or {"$in": [None, 0]}
            return after if await self.write(before, after, events_written=as_read) else None

        await compare_and_set(read, changed, write)

    async def save_parts(self, user_id: str, record_id: str, **parts: Any) -> None:
        """Set these parts and leave the others. Raises `NotFound`."""
        await super().save_parts(user_id, record_id, **_as_fields(parts))

    async def iterate(self, user_id: str) -> AsyncIterator[Draft]:
        """Yield all drafts with their parts, in no particular order."""
        async for found in self.database[COLLECTION].find({"user_id": user_id}):
            yield self.from_document(found)

    async def replace_parts(self, before: Draft, parts: Mapping[str, Any]) -> None:
        """Flag the draft, and replace each of these parts that has not changed since `before`."""
        user_id, draft_id = before.user_id, before.id
        await self.set_fields(user_id, draft_id, {"flagged": True})
        for name, part in parts.items():
            same = _as_fields({name: before.parts[name]})
            await self.set_fields(user_id, draft_id, _as_fields({name: part}), **same)

    async def replace_card(self, before: Draft, **parts: Any) -> bool:
        """Set these parts, and increment the round. Returns False if the card is no longer the one in `before`."""
        same = _as_fields({"card": before.parts["card"]})
        changes = {**_as_fields(parts), "round": before.round + 1}
        return await self.set_fields(before.user_id, before.id, changes, round=before.round, **same)

    async def forget_conversation(self, user_id: str, conversation_id: str) -> None:
        """Detach drafts from a conversation; they continue to run."""
        await self.database[COLLECTION].update_many(
            {"user_id": user_id, "conversation_id": conversation_id}, {"$set": {"conversation_id": None}}
        )

    async def list_changed_since(self, user_id: str, moment: float, limit: int) -> list[Draft]:
        """List drafts changed since `moment`, without their parts, oldest change first."""
        return await self._oldest_change_first(limit, user_id=user_id, updated_at={"$gte": moment})

    async def get_many(self, user_id: str, ids: Collection[str]) -> list[Draft]:
        """List the existing drafts with these ids, without their parts, oldest change first."""
        return await self._oldest_change_first(0, user_id=user_id, _id={"$in": list(ids)})

    async def mark_reported(self, user_id: str, draft_id: str) -> None:
        """Record that the draft's end was reported in the conversation."""
        await self.set_fields(user_id, draft_id, {"news": False})

    async def list_of_conversation(self, user_id: str, conversation_id: str, limit: int) -> list[Draft]:
        """List the conversation's drafts, without their parts, newest first."""
        return await self.newest(user_id, limit, conversation_id=conversation_id)

    async def list_active(self, user_id: str, limit: int) -> list[Draft]:
        """List running and waiting drafts, without their parts, newest first."""
        return await self.newest(user_id, limit, status={"$in": sorted(ACTIVE_STATUSES)})

    async def list_tailored(self, user_id: str, limit: int, job_id: str | None = None) -> list[Draft]:
        """List documents tailored to jobs, newest first, without their parts; only those for `job_id` if given."""
        of_job: Document = {"job_id": job_id} if job_id else {}
        return await self.newest(user_id, limit, kind={"$in": sorted(TAILORED)}, **of_job)

    async def list_earlier_attempts(self, draft: Draft, since: float) -> list[Draft]:
        """List drafts of the same kind and style with their parts, newest first: those of the same run, and unfinished
        ones changed since `since`."""
        lately = {"status": UNFINISHED, "updated_at": {"$gte": since}}
        query = {"user_id": draft.user_id, "kind": draft.kind, "style": draft.style}
        return await self._list({**query, "$or": [{"run_id": draft.run_id}, lately]}, [("created_at", -1)])

    async def find_previous_version(self, draft: Draft) -> Draft | None:
        """Return the newest other draft of the same kind and job that has a text, with its parts."""
        same = {"user_id": draft.user_id, "kind": draft.kind, "job_id": draft.job_id}
        query = {**same, "_id": {"$ne": draft.id}, "created_at": {"$lte": draft.created_at}}
        found = await self._list({**query, "part_card": {"$exists": True}}, [("created_at", -1)], 1)
        return found[0] if found else None

    async def list_running_pipelines(self, user_id: str) -> set[str]:
        """Return the ids of running pipelines, excluding those that wait for a person."""
        found = self.database[COLLECTION].find({"user_id": user_id, "status": "running"}, {"_id": 1})
        return {pipeline_id_of(each["_id"]) async for each in found}

    async def _oldest_change_first(self, limit: int, **query: Any) -> list[Draft]:
        return await self._list(query, [("updated_at", 1)], limit, self.listed)

    @classmethod
    def to_document(cls, record: Draft) -> Document:
        document = super().to_document(record.model_copy(update={"parts": {}}))
        del document["parts"], document["events_written"]  # the outbox counts its events itself
        return {**document, **_as_fields(record.parts)}

    @classmethod
    def from_document(cls, document: Document) -> Draft:
        parts = {
            name.removeprefix(_PART): json.loads(text) for name, text in document.items() if name.startswith(_PART)
        }
        return super().from_document({**document, "parts": parts})


def _as_fields(parts: Mapping[str, Any]) -> dict[str, str]:
    return {f"{_PART}{name}": as_text(part) for name, part in parts.items()}


_NAMES: Mapping[DraftKind, str] = {
    "card": "career card",
    "about": "About section",
    "headlines": "headlines",
    "profile_text": "profile text",
    "resume": "résumé",
    "cover_letter": "cover letter",
}
_EVENTS: Mapping[DraftStatus, tuple[str, Severity, str]] = {
    "unfinished": ("started", "info", "Begun: your {}"),
    "running": ("started", "info", "Drafting your {}"),
    "waiting": ("waiting", "info", "Ready for your decision: your {}"),
    "drafted": ("drafted", "info", "Drafted: your {}"),
    "published": ("published", "info", "Published: your {}"),
    "rejected": ("rejected", "info", "You declined it: your {}"),
    "expired": ("expired", "warning", "Nobody decided in time: your {}"),
    "stopped": ("stopped", "warning", "Stopped when you paused: your {}"),
    "failed": ("failed", "warning", "Could not be finished: your {}"),
}
"""By status: verb, severity and title of the event."""


def describe_status(draft: Draft) -> str:
    """Describe the draft's status in a sentence: "Drafted: your résumé for Payments Engineer, Adyen"."""
    return _EVENTS[draft.status][2].format(_NAMES[draft.kind]) + (f" for {draft.job}" if draft.job else "")


def _event(draft: Draft) -> ActivityEvent:
    verb, severity, _ = _EVENTS[draft.status]
    data = {"draft_id": draft.id, "kind": draft.kind, "round": draft.round}
    links = {"approval_id": draft.approval_id, "conversation_id": draft.conversation_id}
    return ActivityEvent(
        id=f"{draft.id}:{draft.events_written}",
        user_id=draft.user_id,
        at=draft.updated_at,
        type=f"draft.{verb}",
        role="cards",
        severity=severity,
        title=describe_status(draft),
        run_id=draft.run_id,
        data={**data, **{name: value for name, value in links.items() if value}},
    )
