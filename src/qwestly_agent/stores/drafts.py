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
from qwestly_agent.stores.activity import copy_after_write, outbox, with_events
from qwestly_agent.stores.collection import ALL_ACTIONS, Expires, MongoCollection, index
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.store import Store

RETENTION = timedelta(days=90)
COLLECTION = MongoCollection(
    "agent_drafts",
    Expires(RETENTION),
    index("user_updated", "user_id", "updated_at"),
    index("status", "status"),
    holds="cards, profile texts, résumés and letters, with their evidence",
    has_outbox=True,
    reader=ALL_ACTIONS,
)

DraftKind: TypeAlias = Literal["card", "about", "headlines", "profile_text", "resume", "cover_letter"]
DraftStatus: TypeAlias = Literal[
    "unfinished", "running", "waiting", "drafted", "published", "rejected", "expired", "stopped", "failed"
]

GATHERING = "Gathering evidence"
"""The label of a new draft."""
TAILORED: frozenset[DraftKind] = frozenset({"resume", "cover_letter"})
"""Kinds that are written for one job, and private until the person applies with them."""
UNFINISHED: DraftStatus = "unfinished"
"""Status of a text that a turn writes: models' answers are stored, and the next try continues with them."""
UNDER_WAY: frozenset[DraftStatus] = frozenset({"running", "waiting"})


class Draft(BaseModel):
    """Moments are seconds since the epoch."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    id: str
    user_id: str
    run_id: str
    conversation_id: str | None
    kind: DraftKind = "card"
    job_id: str | None = None
    """Id of the job that it is written for."""
    style: str
    status: DraftStatus = "running"
    label: str
    """Progress for the user, such as "Drafting 3 of 6 sections"."""
    round: int = 1
    """Incremented each time a person asks for changes."""
    approval_id: str | None = None
    """The approval that is pending or was decided last."""
    news: bool = False
    """True if it ended and its conversation has not reported it yet."""
    flagged: bool = False
    """True if it rests on something that the user had forgotten since."""
    created_at: float
    updated_at: float
    parts: Mapping[str, Any] = {}
    """The pipeline's data by name: evidence, sections, the checked card."""


_FIELDS = Draft.model_fields.keys() - {"id", "parts"}
_PIPELINE = "card-"


def pipeline(draft_id: str) -> str:
    """A draft's pipeline id in receipts, and the name of its execution."""
    return f"{_PIPELINE}{draft_id}"


def id_of(pipeline_id: str) -> str:
    return pipeline_id.removeprefix(_PIPELINE)


class Drafts(Store):
    async def add(self, draft: Draft) -> bool:
        """False if it exists already."""
        fields = draft.model_dump(mode="json", exclude={"id", "parts"})
        parts = {f"part_{name}": _kept(value) for name, value in draft.parts.items()}
        expires_at = to_datetime(draft.created_at) + RETENTION
        new = {**fields, **parts, "_id": draft.id, "expires_at": expires_at, **outbox(_event(draft, 0))}
        try:
            await self.database[COLLECTION].insert_one(new)
        except DuplicateKeyError:
            return False
        await copy_after_write(self.database, COLLECTION, draft.user_id, draft.id)
        return True

    async def get(self, user_id: str, draft_id: str) -> Draft:
        """Raises `NotFound`."""
        found = await self.database[COLLECTION].find_one({"_id": draft_id, "user_id": user_id})
        if found is None:
            raise NotFound("There is no such draft.")
        return _draft(found)

    async def tell(self, user_id: str, draft_id: str, now: float, **fields: Any) -> None:
        """Update fields: status, label, round, approval_id. An end is news for its conversation, once. Raises
        `NotFound`."""
        changes = {**fields, "updated_at": now}
        if "status" in fields:
            await self._set_status(user_id, draft_id, changes)
        else:
            await self._set(user_id, draft_id, changes)

    async def keep(self, user_id: str, draft_id: str, **parts: Any) -> None:
        """Set these parts and leave the others: states that run in parallel write different parts."""
        await self._set(user_id, draft_id, {f"part_{name}": _kept(value) for name, value in parts.items()})

    async def each(self, user_id: str) -> AsyncIterator[Draft]:
        """All drafts with their parts, in no order."""
        async for found in self.database[COLLECTION].find({"user_id": user_id}):
            yield _draft(found)

    async def replace_parts(self, before: Draft, parts: Mapping[str, Any]) -> None:
        """Flag the draft and replace each of these parts that is still as in `before`."""
        here = {"_id": before.id, "user_id": before.user_id}
        await self.database[COLLECTION].update_one(here, {"$set": {"flagged": True}})
        for name, part in parts.items():
            same = {**here, f"part_{name}": _kept(before.parts[name])}
            await self.database[COLLECTION].update_one(same, {"$set": {f"part_{name}": _kept(part)}})

    async def forget_conversation(self, user_id: str, conversation_id: str) -> None:
        """Detach its drafts from the conversation; they continue."""
        await self.database[COLLECTION].update_many(
            {"user_id": user_id, "conversation_id": conversation_id}, {"$set": {"conversation_id": None}}
        )

    async def touched_since(self, user_id: str, moment: float, limit: int) -> list[Draft]:
        """Drafts changed since `moment`, without their parts; the oldest change first."""
        return await self._find({"user_id": user_id, "updated_at": {"$gte": moment}}, "updated_at", 1, limit)

    async def of_ids(self, user_id: str, ids: Collection[str]) -> list[Draft]:
        """The existing ones of these drafts, without their parts; the oldest change first."""
        return await self._find({"user_id": user_id, "_id": {"$in": list(ids)}}, "updated_at", 1, 0)

    async def of_conversation(self, user_id: str, conversation_id: str, limit: int) -> list[Draft]:
        """The conversation's drafts, without their parts; the newest first."""
        query = {"user_id": user_id, "conversation_id": conversation_id}
        return await self._find(query, "created_at", -1, limit)

    async def unreported(self, user_id: str, conversation_id: str, limit: int) -> list[Draft]:
        """Ended drafts that this conversation has not reported yet, without their parts; oldest first."""
        query = {"user_id": user_id, "conversation_id": conversation_id, "news": True}
        return await self._find(query, "updated_at", 1, limit)

    async def told(self, user_id: str, draft_id: str) -> None:
        """Record that its conversation reported its end."""
        await self.database[COLLECTION].update_one({"_id": draft_id, "user_id": user_id}, {"$set": {"news": False}})

    async def under_way(self, user_id: str, limit: int) -> list[Draft]:
        """Drafts that run or wait, without their parts; the newest first."""
        query = {"user_id": user_id, "status": {"$in": ["running", "waiting"]}}
        return await self._find(query, "created_at", -1, limit)

    async def all(self, user_id: str, limit: int) -> list[Draft]:
        """All drafts, without their parts; the newest first."""
        return await self._find({"user_id": user_id}, "created_at", -1, limit)

    async def tailored(self, user_id: str, limit: int, job_id: str | None = None) -> list[Draft]:
        """Documents that were written for jobs, or for this one, without their parts; the newest first."""
        of_job = {"job_id": job_id} if job_id else {}
        query = {"user_id": user_id, "kind": {"$in": sorted(TAILORED)}, **of_job}
        return await self._find(query, "created_at", -1, limit)

    async def tries(self, draft: Draft, since: float) -> list[Draft]:
        """Drafts of the same kind and style, of the same run, or unfinished and changed since; with their parts, the
        newest first."""
        lately = {"status": UNFINISHED, "updated_at": {"$gte": since}}
        query = {"user_id": draft.user_id, "kind": draft.kind, "style": draft.style}
        found = self.database[COLLECTION].find({**query, "$or": [{"run_id": draft.run_id}, lately]})
        return [_draft(each) async for each in found.sort("created_at", -1)]

    async def version_before(self, draft: Draft) -> Draft | None:
        """The newest other draft of the same kind, and for the same job, that has a text; with its parts."""
        same = {"user_id": draft.user_id, "kind": draft.kind, "job_id": draft.job_id}
        query = {**same, "_id": {"$ne": draft.id}, "created_at": {"$lte": draft.created_at}}
        found = self.database[COLLECTION].find({**query, "part_card": {"$exists": True}}).sort("created_at", -1)
        newest = await found.limit(1).to_list()
        return _draft(newest[0]) if newest else None

    async def running(self, user_id: str) -> set[str]:
        """Ids of the pipelines that run now, without those that wait for a person."""
        found = self.database[COLLECTION].find({"user_id": user_id, "status": "running"}, {"_id": 1})
        return {pipeline(each["_id"]) async for each in found}

    async def _find(self, query: Document, order: str, direction: int, limit: int) -> list[Draft]:
        found = self.database[COLLECTION].find(query, dict.fromkeys(_FIELDS, 1)).sort(order, direction).limit(limit)
        return [_draft(each) async for each in found]

    async def _set_status(self, user_id: str, draft_id: str, changes: Document) -> None:
        """Like `_set`, with an event if the draft has another status, or waits for another approval, than before."""
        here, fields = {"_id": draft_id, "user_id": user_id}, dict.fromkeys(_FIELDS, 1)
        while found := await self.database[COLLECTION].find_one(here, {**fields, "events_written": 1}):
            before, written = _draft(found), found.get("events_written")
            after = before.model_copy(update=changes)
            is_other = (before.status, before.approval_id) != (after.status, after.approval_id)
            events = [_event(after, written or 0)] if is_other else []
            # A turn's own tool reports what the turn writes.
            ends = before.status not in (after.status, UNFINISHED) and after.status not in UNDER_WAY
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
"""By status: the verb, the severity and the title."""


def title_of(draft: Draft) -> str:
    """Describe its status in a sentence."""
    return _EVENTS[draft.status][2].format(_NAMES[draft.kind])


def _event(draft: Draft, written: int) -> ActivityEvent:
    """The event of a draft whose status has just changed; `written`: number of its events so far."""
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
        title=title_of(draft),
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
