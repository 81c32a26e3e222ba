"""Types of job search: an advert, a person's wishes, and a match with its reasons."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from qwestly_agent.domain.approval import sha256_hex

MatchStatus: TypeAlias = Literal["new", "saved", "hidden"]
Verdict: TypeAlias = Literal["up", "down", "not_this_kind"]
Period: TypeAlias = Literal["hour", "day", "week", "month", "year"]
Board: TypeAlias = Literal["adzuna", "jsearch"]
Wish: TypeAlias = Literal["remote", "pay", "never"]
"""A job wish for which the candidate app has no preference."""

Words = Annotated[str, StringConstraints(min_length=1, max_length=100, strip_whitespace=True)]
Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore")


class Pay(_Frozen):
    """The pay that an advert states. Estimates by a board are left out."""

    lowest: float | None = None
    highest: float | None = None
    currency: str = ""
    """ISO 4217; empty if unknown."""
    per: Period = "year"


class Advert(_Frozen):
    """A job advert. It holds no user data, and its text is untrusted."""

    id: str
    title: str
    company: str = ""
    place: str = ""
    is_remote: bool = False
    pay: Pay | None = None
    posted_at: float | None = None
    ends_at: float | None = None
    """Until when one can apply; None if the board does not say."""
    country: str = ""
    """A name or two letters (ISO 3166); empty if unknown."""
    areas: tuple[str, ...] = ()
    """Further names of its place, as the board gives them: district, region."""
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
    """Return the wishes with these values, in the format of `wishes_told`. None removes a wish. Raises
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
    """A reason for or against a job, with quotes of the advert and of the person."""

    text: str
    advert_quote: str
    person_quote: str | None = None
    person_source: str | None = None
    """Where the person's words come from, for the person."""


def match_id(user_id: str, advert_id: str) -> str:
    """Return the id of this user's match with this advert."""
    return f"job_{sha256_hex(user_id, advert_id)[:32]}"


class JobMatch(_Frozen):
    id: str
    user_id: str
    run_id: str
    advert: Advert
    """The advert when it was found."""
    status: MatchStatus = "new"
    verdict: Verdict | None = None
    judged_at: float | None = None
    """When the user set or removed the verdict."""
    reasons_for: tuple[Reason, ...] = ()
    reasons_against: tuple[Reason, ...] = ()
    evidence: tuple[str, ...] = ()
    """Ids of the evidence that the reasons quote."""
    score: float = 0.0
    found_at: float
    updated_at: float
    application_id: str | None = None

    @property
    def advert_id(self) -> str:
        return self.advert.id
