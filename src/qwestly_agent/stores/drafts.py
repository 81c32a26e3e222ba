"""`agent_drafts`: career documents in progress, with their evidence and the progress shown to the user."""

import json
from collections.abc import AsyncIterator, Collection, Mapping
from datetime import timedelta
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.activity import ActivityEvent, Severity
from qwestly_agent.platform.collection import ALL_ACTIONS, Expires, MongoCollection, index
from qwestly_agent.platform.outbox import copy_after_write, outbox_fields, with_events
from qwestly_agent.platform.store import Document, Store

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
"""Status of a text that is written within a turn. Models' answers are stored, so that the next attempt continues with
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
    parts: Mapping[str, Any] = {}
    """The pipeline's data by name: evidence, sections, the checked card."""


_FIELDS = Draft.model_fields.keys() - {"id", "parts"}
_PIPELINE = "card-"


def pipeline_id_of(draft_id: str) -> str:
    """Return a draft's pipeline id, which is also the name of its execution."""
    return f"{_PIPELINE}{draft_id}"


def draft_id_of(pipeline_id: str) -> str:
    return pipeline_id.removeprefix(_PIPELINE)


class Drafts(Store):
    async def add(self, draft: Draft) -> bool:
        """Insert a draft. Returns False if it exists already."""
        fields = draft.model_dump(mode="json", exclude={"id", "parts"})
        parts = {f"part_{name}": _kept(value) for name, value in draft.parts.items()}
        expires_at = to_datetime(draft.created_at) + RETENTION
        new = {**fields, **parts, "_id": draft.id, "expires_at": expires_at, **outbox_fields(_event(draft, 0))}
        try:
            await self.database[COLLECTION].insert_one(new)
        except DuplicateKeyError:
            return False
        await copy_after_write(self.database, COLLECTION, draft.user_id, draft.id)
        return True

    async def get(self, user_id: str, draft_id: str) -> Draft:
        """Get a draft with its parts. Raises `NotFound`."""
        found = await self.database[COLLECTION].find_one({"_id": draft_id, "user_id": user_id})
        if found is None:
            raise NotFound("There is no such draft.")
        return _draft(found)

    async def update(self, user_id: str, draft_id: str, now: float, **fields: Any) -> None:
        """Update fields such as status, label, round and approval_id. When the draft ends, its conversation reports it
        once. Raises `NotFound`."""
        changes = {**fields, "updated_at": now}
        if "status" in fields:
            await self._set_status(user_id, draft_id, changes)
        else:
            await self._set(user_id, draft_id, changes)

    async def save_parts(self, user_id: str, draft_id: str, **parts: Any) -> None:
        """Set these parts and leave the others, since parallel states write different parts."""
        await self._set(user_id, draft_id, {f"part_{name}": _kept(value) for name, value in parts.items()})

    async def iterate(self, user_id: str) -> AsyncIterator[Draft]:
        """Yield all drafts with their parts, in no particular order."""
        async for found in self.database[COLLECTION].find({"user_id": user_id}):
            yield _draft(found)

    async def replace_parts(self, before: Draft, parts: Mapping[str, Any]) -> None:
        """Flag the draft, and replace each of these parts that is still the same as in `before`."""
        here = {"_id": before.id, "user_id": before.user_id}
        await self.database[COLLECTION].update_one(here, {"$set": {"flagged": True}})
        for name, part in parts.items():
            same = {**here, f"part_{name}": _kept(before.parts[name])}
            await self.database[COLLECTION].update_one(same, {"$set": {f"part_{name}": _kept(part)}})

    async def forget_conversation(self, user_id: str, conversation_id: str) -> None:
        """Detach drafts from a conversation; they continue."""
        await self.database[COLLECTION].update_many(
            {"user_id": user_id, "conversation_id": conversation_id}, {"$set": {"conversation_id": None}}
        )

    async def list_changed_since(self, user_id: str, moment: float, limit: int) -> list[Draft]:
        """List drafts changed since `moment`, without their parts, oldest change first."""
        return await self._find({"user_id": user_id, "updated_at": {"$gte": moment}}, "updated_at", 1, limit)

    async def get_many(self, user_id: str, ids: Collection[str]) -> list[Draft]:
        """List the existing drafts with these ids, without their parts, oldest change first."""
        return await self._find({"user_id": user_id, "_id": {"$in": list(ids)}}, "updated_at", 1, 0)

    async def list_of_conversation(self, user_id: str, conversation_id: str, limit: int) -> list[Draft]:
        """List the conversation's drafts, without their parts, newest first."""
        query = {"user_id": user_id, "conversation_id": conversation_id}
        return await self._find(query, "created_at", -1, limit)

    async def list_unreported(self, user_id: str, conversation_id: str, limit: int) -> list[Draft]:
        """List ended drafts that this conversation has not reported yet, without their parts, oldest first."""
        query = {"user_id": user_id, "conversation_id": conversation_id, "news": True}
        return await self._find(query, "updated_at", 1, limit)

    async def mark_reported(self, user_id: str, draft_id: str) -> None:
        """Record that the conversation has reported the draft's end."""
        await self.database[COLLECTION].update_one({"_id": draft_id, "user_id": user_id}, {"$set": {"news": False}})

    async def list_active(self, user_id: str, limit: int) -> list[Draft]:
        """List running and waiting drafts, without their parts, newest first."""
        query = {"user_id": user_id, "status": {"$in": ["running", "waiting"]}}
        return await self._find(query, "created_at", -1, limit)

    async def list_all(self, user_id: str, limit: int) -> list[Draft]:
        """List all drafts, without their parts, newest first."""
        return await self._find({"user_id": user_id}, "created_at", -1, limit)

    async def list_tailored(self, user_id: str, limit: int, job_id: str | None = None) -> list[Draft]:
        """List documents tailored to jobs (only to this job, if given), newest first, without their parts."""
        of_job = {"job_id": job_id} if job_id else {}
        query = {"user_id": user_id, "kind": {"$in": sorted(TAILORED)}, **of_job}
        return await self._find(query, "created_at", -1, limit)

    async def list_earlier_attempts(self, draft: Draft, since: float) -> list[Draft]:
        """List drafts of the same kind and style that belong to the same run, or are unfinished and changed since; with
        their parts, newest first."""
        lately = {"status": UNFINISHED, "updated_at": {"$gte": since}}
        query = {"user_id": draft.user_id, "kind": draft.kind, "style": draft.style}
        found = self.database[COLLECTION].find({**query, "$or": [{"run_id": draft.run_id}, lately]})
        return [_draft(each) async for each in found.sort("created_at", -1)]

    async def find_previous_version(self, draft: Draft) -> Draft | None:
        """Return the newest other draft of the same kind and job that has a text, with its parts."""
        same = {"user_id": draft.user_id, "kind": draft.kind, "job_id": draft.job_id}
        query = {**same, "_id": {"$ne": draft.id}, "created_at": {"$lte": draft.created_at}}
        found = self.database[COLLECTION].find({**query, "part_card": {"$exists": True}}).sort("created_at", -1)
        newest = await found.limit(1).to_list()
        return _draft(newest[0]) if newest else None

    async def list_running_pipelines(self, user_id: str) -> set[str]:
        """Return the ids of running pipelines, excluding those that wait for a person."""
        found = self.database[COLLECTION].find({"user_id": user_id, "status": "running"}, {"_id": 1})
        return {pipeline_id_of(each["_id"]) async for each in found}

    async def _find(self, query: Document, order: str, direction: int, limit: int) -> list[Draft]:
        found = self.database[COLLECTION].find(query, dict.fromkeys(_FIELDS, 1)).sort(order, direction).limit(limit)
        return [_draft(each) async for each in found]

    async def _set_status(self, user_id: str, draft_id: str, changes: Document) -> None:
        """Like `_set`, but adds an event if the status or the approval in question changes."""
        here, fields = {"_id": draft_id, "user_id": user_id}, dict.fromkeys(_FIELDS, 1)
        while found := await self.database[COLLECTION].find_one(here, {**fields, "events_written": 1}):
            before, written = _draft(found), found.get("events_written")
            after = before.model_copy(update=changes)
            is_other = (before.status, before.approval_id) != (after.status, after.approval_id)
            events = [_event(after, written or 0)] if is_other else []
            # A text written within a turn is reported by the turn's own tool.
            ends = before.status not in (after.status, UNFINISHED) and after.status not in ACTIVE_STATUSES
            ends = ends and before.conversation_id
            change = {"$set": {**changes, **({"news": True} if ends else {})}}
            same = {**here, "events_written": written}
            changed = await self.database[COLLECTION].update_one(same, with_events(change, *events))
            if changed.matched_count:
                break
        else:
            raise NotFound("There is no such draft.")
        if events:
            await copy_after_write(self.database, COLLECTION, user_id, draft_id)

    async def _set(self, user_id: str, draft_id: str, changes: Document) -> None:
        changed = await self.database[COLLECTION].update_one({"_id": draft_id, "user_id": user_id}, {"$set": changes})
        if not changed.matched_count:
            raise NotFound("There is no such draft.")


_NAMES: Mapping[DraftKind, str] = {
    "card": "career card",
    "about": "About section",
    "headlines": "headlines",
    "profile_text": "profile text",
    "resume": "résumé for a job",
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
    """Describe the draft's status in a sentence."""
    return _EVENTS[draft.status][2].format(_NAMES[draft.kind])


def _event(draft: Draft, written: int) -> ActivityEvent:
    """Return the event of a status change. `written` is the number of the draft's events so far."""
    verb, severity, _ = _EVENTS[draft.status]
    data = {"draft_id": draft.id, "kind": draft.kind, "round": draft.round}
    links = {"approval_id": draft.approval_id, "conversation_id": draft.conversation_id}
    return ActivityEvent(
        id=f"{draft.id}:{written}",
        user_id=draft.user_id,
        at=draft.updated_at,
        type=f"draft.{verb}",
        role="cards",
        severity=severity,
        title=describe_status(draft),
        run_id=draft.run_id,
        data={**data, **{name: value for name, value in links.items() if value}},
    )


def _kept(part: Any) -> str:
    # As text, so that MongoDB does not interpret keys (`$`, dots).
    return json.dumps(part, ensure_ascii=False)


def _draft(document: Document) -> Draft:
    fields = {name: value for name, value in document.items() if name in Draft.model_fields}
    parts = {
        name.removeprefix("part_"): json.loads(value) for name, value in document.items() if name.startswith("part_")
    }
    return Draft.model_validate({**fields, "id": document["_id"], "parts": parts})
