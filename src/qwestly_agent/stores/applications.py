"""`agent_applications`: a user's job applications, each with status, next step and history."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from qwestly_agent.base.errors import ChangedMeanwhile, NotFound
from qwestly_agent.domain.activity import ActivityEvent, Severity
from qwestly_agent.domain.job import OVER, Application, StatusChange
from qwestly_agent.platform.collection import Expires, MongoCollection, index
from qwestly_agent.platform.records import Records

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
KEYS_KEPT = 20
WORDS = ("next_step", "notes")
"""Fields that the user writes."""


class Applications(Records[Application]):
    collection, model, missing = COLLECTION, Application, "There is no such application."
    nested, derived = ("history",), ("due_at",)
    order, kept_since = ("updated_at",), "updated_at"

    def events_of(self, before: Application | None, after: Application) -> Sequence[ActivityEvent]:
        return [] if before and before.status == after.status else [_event(after)]

    async def due_steps(self, user_id: str, now: float, limit: int) -> list[tuple[Application, float]]:
        """List the open applications whose next step is due, reminded or not, with the due time, longest due first.
        Only the `limit` last changed applications are searched."""
        known = await self.newest(user_id, limit, status={"$nin": sorted(OVER)})
        untold = ((each, each.model_copy(update={"told_due_at": None}).due_at) for each in known)
        due = [(each, at) for each, at in untold if at is not None and at <= now]
        return sorted(due, key=lambda each: each[1])

    async def add_or_get(self, record: Application) -> Application:
        first = StatusChange(at=record.updated_at, status=record.status)
        return await super().add_or_get(record.model_copy(update={"history": (first,)}))

    async def change(
        self, user_id: str, application_id: str, now: float, *, approved: bool = False, **changes: Any
    ) -> Application:
        """Set these fields. A new status is added to the history and to the feed; if `approved`, the approval's event
        stands for it in the feed. Raises `NotFound` and `Unavailable`."""
        events = () if approved else None
        return (await self.transform(user_id, application_id, lambda each: each.after(changes, now), events=events))[0]

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

        await self.transform(user_id, application_id, changed, events=())

    async def record_reminder(self, application: Application, now: float) -> bool:
        """Record that the user was reminded of the due step. Returns False if this was done before, or if the
        application has changed."""
        changes = {"told_due_at": application.due_at, "revision": application.revision + 1}
        after = application.model_copy(update=changes)
        return await self.replace(application, after, [_due_event(after, now)]) is not None

    async def forget(self, user_id: str, contains_forgotten: Callable[[str], bool]) -> None:
        """Clear the user's own texts that contain something forgotten."""

        def forgotten(before: Application) -> Application:
            return before.model_copy(update={name: "" for name in WORDS if contains_forgotten(getattr(before, name))})

        for each in await self.newest(user_id, 0):
            with suppress(NotFound):
                await self.transform(user_id, each.id, forgotten)


_TITLES: dict[str, tuple[Severity, str]] = {
    "preparing": ("info", "You are preparing an application"),
    "applied": ("info", "An application was sent"),
    "interview": ("info", "An application led to an interview"),
    "offer": ("info", "An application led to an offer"),
    "rejected": ("info", "An application was turned down"),
    "withdrawn": ("info", "You withdrew an application"),
    "closed": ("info", "You closed an application"),
}


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
