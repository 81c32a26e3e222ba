"""`agent_applications`: a user's job applications, each with status, next step and history."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import ChangedMeanwhile, NotFound, Unavailable
from qwestly_agent.domain.activity import ActivityEvent, Severity
from qwestly_agent.domain.application import OVER, Application, StatusChange
from qwestly_agent.platform.collection import Expires, MongoCollection, index
from qwestly_agent.platform.outbox import copy_after_write, outbox_fields, with_events
from qwestly_agent.platform.store import Document, Store

RETENTION = timedelta(days=365)
"""Counted from the last change."""
COLLECTION = MongoCollection(
    "agent_applications",
    Expires(RETENTION, since="after the last change"),
    index("user_updated", "user_id", "-updated_at"),
    index("due_at", "due_at"),
    holds="applications, with notes",
    events=(
        "application.preparing",
        "application.applied",
        "application.interview",
        "application.offer",
        "application.rejected",
        "application.withdrawn",
        "application.closed",
        "application.due",
    ),
    events_note="by the user, except `due`; approved changes are `approval.done`",
)
NO_SUCH_APPLICATION = "There is no such application."
TRIES = 5
KEYS_KEPT = 20
WORDS = ("next_step", "notes")
"""Fields that the user writes."""


class Applications(Store):
    async def add(self, application: Application) -> Application:
        """Insert an application, or return the existing one with the same id."""
        first = application.model_copy(update={"history": (_change(application),)})
        try:
            await self.database[COLLECTION].insert_one({**_document(first), **outbox_fields(_event(first))})
        except DuplicateKeyError:
            return await self.get(application.user_id, application.id)
        await copy_after_write(self.database, COLLECTION, application.user_id, application.id)
        return first

    async def get(self, user_id: str, application_id: str) -> Application:
        """Get an application. Raises `NotFound`."""
        found = await self.database[COLLECTION].find_one({"_id": application_id, "user_id": user_id})
        if found is None:
            raise NotFound(NO_SUCH_APPLICATION)
        return _application(found)

    async def newest(self, user_id: str, limit: int) -> list[Application]:
        """List applications, last changed first."""
        found = self.database[COLLECTION].find({"user_id": user_id}).sort("updated_at", -1).limit(limit)
        return [_application(each) async for each in found]

    async def due_steps(self, user_id: str, now: float, limit: int) -> list[tuple[Application, float]]:
        """List the open applications whose next step is due, reminded or not, with the due time, longest due first.
        Only the `limit` last changed applications are searched."""
        query = {"user_id": user_id, "status": {"$nin": sorted(OVER)}}
        found = self.database[COLLECTION].find(query).sort("updated_at", -1).limit(limit)
        known = [_application(each) async for each in found]
        untold = ((each, each.model_copy(update={"told_due_at": None}).due_at) for each in known)
        due = [(each, at) for each, at in untold if at is not None and at <= now]
        return sorted(due, key=lambda each: each[1])

    async def change(
        self, user_id: str, application_id: str, now: float, *, approved: bool = False, **changes: Any
    ) -> Application:
        """Set these fields. A new status is added to the history and to the feed; if `approved`, the approval's event
        stands for it in the feed. Raises `NotFound` and `Unavailable`."""
        return await self._replace(
            user_id, application_id, lambda before: before.after(changes, now), is_told=not approved
        )

    async def change_once(
        self,
        user_id: str,
        application_id: str,
        now: float,
        key: str,
        is_as_shown: Callable[[Application], bool],
        **changes: Any,
    ) -> None:
        """Set these fields once for this key, the id of the approval. Raises `ChangedMeanwhile` if the application
        differs from what the user was shown, `NotFound` and `Unavailable`."""

        def changed(before: Application) -> Application:
            if key in before.changed_by:
                return before
            if not is_as_shown(before):
                raise ChangedMeanwhile
            keys = (*before.changed_by, key)[-KEYS_KEPT:]
            return before.after({**changes, "changed_by": keys}, now)

        await self._replace(user_id, application_id, changed, is_told=False)

    async def record_reminder(self, application: Application, now: float) -> bool:
        """Record that the user was reminded of the due step. Returns False if this was done before, or if the
        application has changed."""
        changes = {"told_due_at": application.due_at, "revision": application.revision + 1}
        after = application.model_copy(update=changes)
        return await self._put(application, after, [_due_event(after, now)])

    async def forget(self, user_id: str, contains_forgotten: Callable[[str], bool]) -> None:
        """Clear the user's own texts that contain something forgotten."""

        def forgotten(before: Application) -> Application:
            return before.model_copy(update={name: "" for name in WORDS if contains_forgotten(getattr(before, name))})

        for each in await self.newest(user_id, 0):
            with suppress(NotFound):
                await self._replace(user_id, each.id, forgotten)

    async def _replace(
        self,
        user_id: str,
        application_id: str,
        change: Callable[[Application], Application],
        *,
        is_told: bool = True,
    ) -> Application:
        """Change an application by compare-and-set. `change` receives the current application, again after each
        conflict."""
        for _ in range(TRIES):
            before = await self.get(user_id, application_id)
            after = change(before)
            if after == before:
                return before
            after = after.model_copy(update={"revision": before.revision + 1})
            is_other = after.status != before.status
            if is_other:
                after = after.model_copy(update={"history": (*before.history, _change(after))})
            if await self._put(before, after, [_event(after)] if is_other and is_told else []):
                return after
        raise Unavailable

    async def _put(self, before: Application, after: Application, events: Sequence[ActivityEvent]) -> bool:
        here = {"_id": before.id, "user_id": before.user_id, "revision": before.revision}
        changes = {name: value for name, value in _document(after).items() if name != "_id"}
        changed = await self.database[COLLECTION].update_one(here, with_events({"$set": changes}, *events))
        if changed.matched_count and events:
            await copy_after_write(self.database, COLLECTION, before.user_id, before.id)
        return bool(changed.matched_count)


_TITLES: dict[str, tuple[Severity, str]] = {
    "preparing": ("info", "You are preparing an application"),
    "applied": ("info", "An application was sent"),
    "interview": ("info", "An application led to an interview"),
    "offer": ("info", "An application led to an offer"),
    "rejected": ("info", "An application was turned down"),
    "withdrawn": ("info", "You withdrew an application"),
    "closed": ("info", "You closed an application"),
}


def _change(application: Application) -> StatusChange:
    return StatusChange(at=application.updated_at, status=application.status)


def _event(application: Application) -> ActivityEvent:
    severity, title = _TITLES[application.status]
    return _of(application, application.status, application.updated_at, severity, title)


def _due_event(application: Application, now: float) -> ActivityEvent:
    is_interview = application.status == "interview"
    near = "An interview has passed: how did it go?" if application.is_interviewed(now) else "An interview is near"
    title = near if is_interview else "A step of an application is due"
    return _of(application, "due", now, "action_required", title)


def _of(application: Application, verb: str, at: float, severity: Severity, title: str) -> ActivityEvent:
    return ActivityEvent(
        id=f"{application.id}:{verb}:{application.revision}",
        user_id=application.user_id,
        at=at,
        type=f"application.{verb}",
        role="jobs",
        severity=severity,
        title=title,
        data={"application_id": application.id, "job_id": application.job_id},
    )


def _document(application: Application) -> Document:
    flat = application.model_dump(mode="json", exclude={"id", "history"})
    history = json.dumps([each.model_dump() for each in application.history])
    expires_at = to_datetime(application.updated_at) + RETENTION
    return {**flat, "_id": application.id, "history": history, "due_at": application.due_at, "expires_at": expires_at}


def _application(document: Document) -> Application:
    return Application.model_validate({**document, "id": document["_id"], "history": json.loads(document["history"])})
