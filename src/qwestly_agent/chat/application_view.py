"""Applications as shown to their user."""

from datetime import datetime

from pydantic import BaseModel

from qwestly_agent.approvals.end import STANDS
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.approval import Approval, Status
from qwestly_agent.domain.job import FOLLOW_UP, Application, ApplicationStatus


class ApplicationJob(BaseModel):
    id: str
    title: str
    company: str
    url: str


class ApplicationMoment(BaseModel):
    at: datetime
    status: ApplicationStatus


class ApplicationView(BaseModel):
    id: str
    job: ApplicationJob
    status: ApplicationStatus
    next_step: str
    """The user's own next step, or the usual one a week after sending."""
    next_at: datetime | None
    due_at: datetime | None
    """When the user is reminded: a day before an interview, a week after sending, otherwise at the planned time."""
    applied_at: datetime | None
    notes: str
    document_ids: tuple[str, ...]
    approval_id: str | None
    """Id of the latest approval that requested to send it."""
    approval_status: Status | None
    """`pending` while it waits for the user, `expired` after its time. Null if none was requested."""
    can_apply: bool
    """True while it is being prepared, and no approval to send it is pending, in progress or done."""
    history: list[ApplicationMoment]
    updated_at: datetime


class ApplicationList(BaseModel):
    items: list[ApplicationView]


class AskedApproval(BaseModel):
    approval_id: str


def application_view(application: Application, approval: Approval | None, now: float) -> ApplicationView:
    """`approval` is the latest one that requested to send it."""
    usual = FOLLOW_UP if application.status == "applied" else ""
    is_over = approval is not None and approval.status == "pending" and not approval.waits(now)
    stands = approval is not None and (approval.waits(now) or approval.status in STANDS)
    return ApplicationView(
        **application.model_dump(include={"id", "status", "notes", "document_ids", "approval_id"}),
        job=ApplicationJob(
            id=application.job_id, title=application.title, company=application.company, url=application.url
        ),
        next_step=application.next_step or usual,
        next_at=_moment(application.next_at),
        due_at=_moment(application.due_at),
        applied_at=_moment(application.applied_at),
        history=[ApplicationMoment(at=to_datetime(each.at), status=each.status) for each in application.history],
        updated_at=to_datetime(application.updated_at),
        approval_status="expired" if is_over else approval and approval.status,
        can_apply=application.status == "preparing" and application.applied_at is None and not stands,
    )


def _moment(at: float | None) -> datetime | None:
    return None if at is None else to_datetime(at)
