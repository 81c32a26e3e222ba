"""Job applications: their status, and the next step with its date."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from qwestly_agent.base.errors import Invalid

ApplicationStatus: TypeAlias = Literal["preparing", "applied", "interview", "offer", "rejected", "withdrawn", "closed"]
HeadField: TypeAlias = Literal["name", "location", "email", "phone", "links"]
"""A field in the head of a document."""
OVER: frozenset[ApplicationStatus] = frozenset({"rejected", "withdrawn", "closed"})
DAY_SECONDS = 86_400.0
FOLLOW_UP_SECONDS = 7 * DAY_SECONDS
"""Delay of the reminder after an application was sent, if no step is planned."""
FOLLOW_UP = "Ask how it stands"
FURTHEST_SECONDS = 3_653 * DAY_SECONDS


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore")


class StatusChange(_Frozen):
    at: float
    status: ApplicationStatus


class Application(_Frozen):
    """A user's application for a job. Times are in seconds since the epoch."""

    id: str
    user_id: str
    job_id: str
    """Id of the match."""
    title: str
    company: str = ""
    url: str = ""
    status: ApplicationStatus = "preparing"
    next_step: str = ""
    """The user's own words."""
    next_at: float | None = None
    notes: str = ""
    """The user's own words."""
    document_ids: tuple[str, ...] = ()
    """Ids of documents that we sent."""
    approval_id: str | None = None
    """The last approval concerning it, or the one with which we sent it."""
    applied_at: float | None = None
    told_due_at: float | None = None
    """The `due_at` that the user was last reminded of."""
    changed_by: tuple[str, ...] = ()
    """Idempotency keys of the last changes."""
    history: tuple[StatusChange, ...] = ()
    created_at: float
    updated_at: float
    revision: int = 0

    @property
    def due_at(self) -> float | None:
        """When the user is reminded of the next step: a day before an interview, a week after sending, otherwise as
        planned. None if nothing is due, or if the reminder was sent."""
        if self.status in OVER:
            return None
        if self.next_at is not None:
            due = self.next_at - (DAY_SECONDS if self.status == "interview" else 0.0)
        elif self.status == "applied" and self.applied_at is not None:
            due = self.applied_at + FOLLOW_UP_SECONDS
        else:
            return None
        return None if due == self.told_due_at else due

    def is_interviewed(self, now: float) -> bool:
        """True if the time of the interview has passed."""
        return self.status == "interview" and self.next_at is not None and self.next_at <= now

    def after(self, changes: Mapping[str, Any], now: float) -> "Application":
        """Return the application with these fields changed; a new status is added to the history. `applied_at` is set
        while the status says that it was sent, and permanently if we sent it."""
        after = self.model_copy(update=dict(changes))
        if after.status == "applied" and after.applied_at is None:
            after = after.model_copy(update={"applied_at": now})
        if after.status == "preparing" and not after.document_ids:
            after = after.model_copy(update={"applied_at": None})
        if after == self:
            return self
        new = (StatusChange(at=now, status=after.status),) if after.status != self.status else ()
        return after.model_copy(update={"updated_at": now, "history": (*self.history, *new)})


def planned_at(at: datetime, now: float) -> float:
    """Return the time of a next step in seconds since the epoch. Raises `Invalid` if it is more than ten years away."""
    moment = at.timestamp()
    if abs(moment - now) > FURTHEST_SECONDS:
        raise Invalid("A next step has a date within ten years.")
    return moment


def application_id(match_id: str) -> str:
    """Return the id of this user's application for this job."""
    return f"app_{match_id.removeprefix('job_')}"
