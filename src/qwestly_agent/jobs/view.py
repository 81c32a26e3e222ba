"""Jobs and applications as shown to their user."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from qwestly_agent.approvals.end import STANDS
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.approval import Approval, Status
from qwestly_agent.domain.job import (
    FOLLOW_UP,
    Application,
    ApplicationStatus,
    Fit,
    JobMatch,
    JobWishes,
    MatchStatus,
    Pay,
    Reason,
    Verdict,
    Way,
)
from qwestly_agent.jobs.warnings import JobWarning, warnings_of
from qwestly_agent.jobs.wishes import describe_weights
from qwestly_agent.stores.jobs import JobSearch

# --- job view ---------------------------------------------------------------------------------------------------------
# Jobs as shown to their user.


class JobView(BaseModel):
    id: str
    title: str
    company: str
    place: str
    is_remote: bool
    way: Way | None
    """How one works; null if the job posting leaves it unclear."""
    remote_within: tuple[str, ...]
    """Countries where a remote worker has to be, as the job posting names them; empty if it names none."""
    pay: Pay | None
    posted_at: datetime | None
    url: str
    source: str
    """The first board that listed it."""
    attribution: str
    """Must be shown next to it, according to the board's terms."""
    is_closed: bool
    fit: Fit | None
    """How well it fits; null if it was not compared with the user."""
    warnings: tuple[JobWarning, ...]
    """Signs of a scam, or demands that employers may not make, each with the posting's own sentence."""
    status: MatchStatus
    verdict: Verdict | None
    reasons_for: tuple[Reason, ...]
    """Each is checked: the job posting and the user's evidence support it. Empty if its sources were forgotten."""
    reasons_against: tuple[Reason, ...]
    found_at: datetime
    application_id: str | None


class JobDetail(JobView):
    text: str
    """The job posting: plain text written by strangers, to be displayed as text."""
    delivers: bool | None
    """True if applications sent through us are delivered to the employer. If false, the user applies on their own, at
    `url`. Null if this is currently unknown."""


class JobList(BaseModel):
    items: list[JobView]
    missing: tuple[str, ...]
    """Sentences about failures of the last search."""
    searched_at: datetime | None
    is_searching: bool
    has_wishes: bool
    """True if the user said what they want."""


class WishSuggestion(BaseModel):
    wish: Literal["titles", "places", "never"]
    value: str
    because: str
    """The user's own words; empty if it comes from their profile."""


class JobSettings(BaseModel):
    is_on: bool
    """True if it is searched each night."""
    wishes: JobWishes
    next_at: datetime | None
    boards: tuple[str, ...]
    """The connected boards; without any, nothing can be searched."""
    suggestions: list[WishSuggestion]
    """Values for wishes that the user did not state here; none excludes a job before it is saved."""


class Weight(BaseModel):
    says: str
    weight: float
    """Added to a job's fit, which is between 0 and 1."""


class JobWeights(BaseModel):
    items: list[Weight]
    """The weights learned from thumbs, strongest first."""


class SearchBegun(BaseModel):
    run_id: str


def job_view(match: JobMatch, *, is_closed: bool) -> JobView:
    return JobView.model_validate(_fields(match, is_closed=is_closed))


def job_detail(match: JobMatch, *, is_closed: bool, delivers: bool | None) -> JobDetail:
    fields = _fields(match, is_closed=is_closed)
    return JobDetail.model_validate({**fields, "text": match.advert.text, "delivers": delivers})


def _fields(match: JobMatch, *, is_closed: bool) -> dict[str, Any]:
    advert = match.advert
    return {
        **advert.model_dump(include={"title", "company", "place", "way", "remote_within", "url", "attribution"}),
        "is_remote": advert.is_remote,
        "warnings": warnings_of(advert),
        **match.model_dump(
            include={"id", "status", "fit", "verdict", "application_id", "reasons_for", "reasons_against"}
        ),
        "pay": advert.pay,
        "posted_at": None if advert.posted_at is None else to_datetime(advert.posted_at),
        "source": advert.board,
        "is_closed": is_closed,
        "found_at": to_datetime(match.found_at),
    }


def job_list(matches: Sequence[JobMatch], closed: set[str], search: JobSearch, now: float) -> JobList:
    return JobList(
        items=[job_view(each, is_closed=each.advert.id in closed) for each in matches],
        missing=search.missing,
        searched_at=None if search.searched_at is None else to_datetime(search.searched_at),
        is_searching=search.is_searching(now),
        has_wishes=search.wishes != JobWishes(),
    )


def job_settings(search: JobSearch, boards: Sequence[str], suggestions: Sequence[tuple[str, str, str]]) -> JobSettings:
    next_at = None if search.next_at is None else to_datetime(search.next_at)
    suggested = [{"wish": wish, "value": value, "because": because} for wish, value, because in suggestions]
    told = {"is_on": search.is_on, "wishes": search.wishes, "next_at": next_at, "boards": boards}
    return JobSettings.model_validate({**told, "suggestions": suggested})


def job_weights(weights: Mapping[str, float]) -> JobWeights:
    return JobWeights(items=[Weight(says=says, weight=weight) for says, weight in describe_weights(weights)])


# --- application view -------------------------------------------------------------------------------------------------
# Applications as shown to their user.


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
    """Return the application as shown to its user. `approval` is the latest request to send it."""
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
