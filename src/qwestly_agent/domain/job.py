"""Types for job search and applications."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from qwestly_agent.base.errors import Invalid
from qwestly_agent.domain.approval import sha256_hex

# --- job --------------------------------------------------------------------------------------------------------------
# Types for job search: an advert, a person's wishes, and a match with its reasons.


MatchStatus: TypeAlias = Literal["new", "saved", "hidden"]
Verdict: TypeAlias = Literal["up", "down", "not_this_kind"]
Period: TypeAlias = Literal["hour", "day", "week", "month", "year"]
Board: TypeAlias = Literal["adzuna", "jsearch"]
Way: TypeAlias = Literal["on_site", "hybrid", "remote"]
Fit: TypeAlias = Literal["strong", "good", "stretch"]
Visa: TypeAlias = Literal["sponsored", "not_sponsored"]
Wish: TypeAlias = Literal["remote", "pay", "never"]
"""A job wish for which the candidate app has no preference field."""

_IN_A_YEAR: Mapping[Period, float] = {"hour": 2_080.0, "day": 260.0, "week": 52.0, "month": 12.0, "year": 1.0}
"""The most pay periods in a year of work, so that a limit rules out only pay that clearly falls short of it."""
_FOURTEEN_MONTHS = frozenset(("AT", "ES", "GR", "IT", "PT"))
"""Countries where a monthly salary is paid up to fourteen times a year."""

Words = Annotated[str, StringConstraints(min_length=1, max_length=100, strip_whitespace=True)]
Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore")


class Pay(_Frozen):
    """The pay stated in an advert. A board's own estimates are left out."""

    lowest: float | None = None
    highest: float | None = None
    currency: str = ""
    """ISO 4217; empty if unknown."""
    per: Period | None = "year"
    """None if the advert does not state it."""

    def most_a_year(self, country: str = "") -> float | None:
        """Return the highest pay per year, in its currency; None if amount or period is not stated."""
        most = self.highest if self.highest is not None else self.lowest
        if most is None or self.per is None:
            return None
        return most * (14.0 if self.per == "month" and country in _FOURTEEN_MONTHS else _IN_A_YEAR[self.per])


class Advert(_Frozen):
    """A job advert. It contains no user data, and its text is untrusted. Unclear values stay unknown."""

    id: str
    title: str
    company: str = ""
    place: str = ""
    """The place as the board writes it."""
    country: str = ""
    """ISO 3166-1 alpha-2; empty if unknown."""
    areas: tuple[str, ...] = ()
    """Names of the place's town, district and region, as the board writes them; empty if unknown."""
    way: Way | None = None
    """Way of working; None if it is unclear."""
    remote_within: tuple[str, ...] = ()
    """The countries, or groups of countries, where a remote worker must be, as the advert names them."""
    visa: Visa | None = None
    """Whether the employer helps with a work permit; None if that is unclear."""
    pay: Pay | None = None
    posted_at: float | None = None
    ends_at: float | None = None
    """The time until which one can apply; None if the board does not state it."""
    text: str = ""
    """Plain text of at most `stores.adverts.LONGEST_TEXT` characters."""
    language: str = ""
    """Two letters (ISO 639-1); empty if unknown."""
    url: str = ""
    board: Board
    """The board that listed it first."""
    attribution: str = ""
    """The attribution that the board's terms require."""
    seen_at: float = 0.0
    """When a board last listed it."""

    @property
    def is_remote(self) -> bool:
        return self.way == "remote"

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_version(cls, stored: Any) -> Any:
        if isinstance(stored, dict) and "way" not in stored and stored.get("is_remote"):
            return {**cast("dict[str, Any]", stored), "way": "remote"}
        return cast("Any", stored)

    def has_ended(self, now: float) -> bool:
        return self.ends_at is not None and self.ends_at < now


class JobWishes(_Frozen):
    """A person's wishes. An empty field is no restriction."""

    titles: Annotated[tuple[Words, ...], Field(max_length=10)] = ()
    places: Annotated[tuple[Words, ...], Field(max_length=10)] = ()
    remote: Literal["any", "only", "no"] = "any"
    pay_from: Annotated[float, Field(ge=0, le=10_000_000)] | None = None
    """Per year."""
    pay_currency: Currency | None = None
    languages: Annotated[tuple[Words, ...], Field(max_length=10)] = ()
    """Two-letter codes; adverts in other languages are left out."""
    work_permits: Annotated[tuple[Words, ...], Field(max_length=20)] = ()
    """Names of countries in which the person may work without sponsorship."""
    never: Annotated[tuple[Words, ...], Field(max_length=50)] = ()
    """Companies and words to exclude."""


def wishes_as_fields(wishes: JobWishes) -> dict[Wish, str | list[str]]:
    """Return the wishes that are set, each as one value; `pay` as `"60000 EUR"`."""
    pay = f"{wishes.pay_from:.0f} {wishes.pay_currency}" if wishes.pay_from and wishes.pay_currency else ""
    told: dict[Wish, str | list[str]] = {
        "remote": "" if wishes.remote == "any" else wishes.remote,
        "pay": pay,
        "never": list(wishes.never),
    }
    return {name: value for name, value in told.items() if value}


def with_wishes(wishes: JobWishes, values: Mapping[Wish, Any]) -> JobWishes:
    """Return the wishes with these values, in the format of `wishes_as_fields`. None removes a wish. Raises
    `ValidationError`."""
    changed = dict[str, Any]()
    for name, value in values.items():
        match name:
            case "remote":
                changed["remote"] = value or "any"
            case "pay":
                amount, _, currency = (value or "").partition(" ")
                changed |= {"pay_from": float(amount) if amount else None, "pay_currency": currency or None}
            case "never":
                changed["never"] = value or ()
    return JobWishes.model_validate({**wishes.model_dump(), **changed})


class Reason(_Frozen):
    """A reason for or against a job, with quotes from the advert and from the person."""

    text: str
    advert_quote: str
    person_quote: str | None = None
    person_source: str | None = None
    """The source of the person's words, as shown to the person."""


def match_id(user_id: str, advert_id: str) -> str:
    """Return the id of this user's match with this advert."""
    return f"job_{sha256_hex(user_id, advert_id)[:32]}"


class JobMatch(_Frozen):
    id: str
    user_id: str
    run_id: str
    advert: Advert
    """The advert as it was when found."""
    status: MatchStatus = "new"
    verdict: Verdict | None = None
    judged_at: float | None = None
    """When the user set or removed the verdict."""
    reasons_for: tuple[Reason, ...] = ()
    reasons_against: tuple[Reason, ...] = ()
    evidence: tuple[str, ...] = ()
    """Ids of the evidence that the reasons quote."""
    fit: Fit | None = None
    """How well the job fits, according to the model; None if the model did not compare it."""
    score: float = 0.0
    """The match's score within a search, from fit, words, meaning and thumbs together."""
    found_at: float
    updated_at: float
    application_id: str | None = None

    @property
    def advert_id(self) -> str:
        return self.advert.id


# --- application ------------------------------------------------------------------------------------------------------
# Job applications: their status, and the next step with its date.


ApplicationStatus: TypeAlias = Literal["preparing", "applied", "interview", "offer", "rejected", "withdrawn", "closed"]
HeadField: TypeAlias = Literal["name", "location", "email", "phone", "links"]
"""A field in the header of a document."""
STATUS_TOLD: Mapping[ApplicationStatus, str] = {
    "preparing": "You are preparing your application",
    "applied": "Your application was sent",
    "interview": "You have an interview",
    "offer": "You have an offer",
    "rejected": "Your application was turned down",
    "withdrawn": "You withdrew your application",
    "closed": "You closed your application",
}
OVER: frozenset[ApplicationStatus] = frozenset({"rejected", "withdrawn", "closed"})
DAY_SECONDS = 86_400.0
FOLLOW_UP_SECONDS = 7 * DAY_SECONDS
"""Delay of the reminder after an application was sent, if no step is planned."""
FOLLOW_UP = "Ask how it stands"
FURTHEST_SECONDS = 3_653 * DAY_SECONDS


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
    """The last approval that concerned the application, or the one with which we sent it."""
    applied_at: float | None = None
    told_due_at: float | None = None
    """The `due_at` of the last reminder that the user received."""
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

    @property
    def name(self) -> str:
        return job_name(self.title, self.company)

    def reminder(self, now: float) -> str:
        """Return a reminder of what is due, without any user text."""
        if self.status == "interview":
            is_over = self.next_at is not None and self.next_at <= now
            return "Your interview has passed: how did it go?" if is_over else "Your interview is near"
        return FOLLOW_UP if self.next_at is None else "The step that you planned is due"

    def after(self, changes: Mapping[str, Any], now: float) -> "Application":
        """Return the application with these fields changed; a new status is added to the history. `applied_at` is set
        as long as the status says that the application was sent, and permanently if we sent it."""
        after = self.model_copy(update=dict(changes))
        if after.status == "applied" and after.applied_at is None:
            after = after.model_copy(update={"applied_at": now})
        if after.status == "preparing" and not after.document_ids:
            after = after.model_copy(update={"applied_at": None})
        if after == self:
            return self
        new = (StatusChange(at=now, status=after.status),) if after.status != self.status else ()
        return after.model_copy(update={"updated_at": now, "history": (*self.history, *new)})


def job_name(title: str, company: str) -> str:
    return f"{title} at {company}" if company else title


def planned_at(at: datetime, now: float) -> float:
    """Return the time of a next step in seconds since the epoch. Raises `Invalid` if it is more than ten years away."""
    moment = at.timestamp()
    if abs(moment - now) > FURTHEST_SECONDS:
        raise Invalid("A next step has a date within ten years.")
    return moment


def application_id(match_id: str) -> str:
    """Return the id of this user's application for this job."""
    return f"app_{match_id.removeprefix('job_')}"
