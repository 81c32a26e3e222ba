"""Requests to job boards and the web search, and their responses: Adzuna, JSearch and Brave."""

import asyncio
import html
import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar, get_args
from urllib.parse import urlsplit

import httpx2

from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.patterns import pattern
from qwestly_agent.base.settings import Secrets, Settings
from qwestly_agent.domain.job import Advert, Board, Pay, Period
from qwestly_agent.text.clean import visible
from qwestly_agent.text.language import language_of

# --- job board requests -----------------------------------------------------------------------------------------------
# Requests to job boards: at most two attempts within `TIMEOUT_SECONDS`, and once more if our key is rejected and was
# rotated.


TIMEOUT_SECONDS = 15.0
ATTEMPT_SECONDS = 6.0
ATTEMPTS = 2
LONGEST_WAIT_SECONDS = 2.0
MOST_BYTES = 4_000_000
REFUSED = (401, 403, 422)
"""Statuses with which Adzuna, JSearch and Brave reject a key."""


class KeyRefused(Unavailable):
    """The board rejects our key."""


T = TypeVar("T")


async def with_current_key(secrets: Secrets, search: Callable[[Settings], Awaitable[T]]) -> T:
    """Search with the current keys, and once more if a key is rejected and the secrets have changed."""
    current = secrets.settings
    try:
        return await search(current)
    except KeyRefused:
        renewed = await secrets.renew()
        if renewed == current:
            raise
        return await search(renewed)


async def ask(
    http: httpx2.AsyncClient,
    title: str,
    url: str,
    parameters: Mapping[str, str],
    headers: Mapping[str, str] | None = None,
) -> Mapping[str, Any]:
    """Send a request to a board and return its JSON. Raises `Unavailable`, whose sentence names the board."""
    why = f"{title} could not be reached."
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            answer = None
            for attempt in range(ATTEMPTS):
                try:
                    answer = await http.get(url, params=parameters, headers=headers, timeout=ATTEMPT_SECONDS)
                except httpx2.HTTPError:
                    answer = None
                if answer is not None and answer.status_code < 500 and answer.status_code != 429:
                    break
                if attempt + 1 < ATTEMPTS:
                    await asyncio.sleep(random.uniform(0, LONGEST_WAIT_SECONDS))  # noqa: S311  no secret
            if answer is None or answer.status_code >= 500:
                raise Unavailable(why)
            if answer.status_code == 429:
                raise Unavailable(f"{title} has answered as often as it will for now.")
            if answer.status_code in REFUSED:
                raise KeyRefused(f"{title} did not answer as it should.")
            told = answer.json() if answer.status_code == 200 and len(answer.content) <= MOST_BYTES else None
    except (TimeoutError, ValueError, RecursionError):
        raise Unavailable(why) from None
    if not isinstance(told, dict):
        raise Unavailable(f"{title} did not answer as it should.")
    return told


# --- job boards -------------------------------------------------------------------------------------------------------
# Parse the responses of job boards and the web search: Adzuna, JSearch and Brave.
#
# All of it is untrusted text. `job_board_requests` sends the queries.


MOST_ADVERTS = 50
"""Maximum number of adverts per query."""
MOST_PAGES = 8
LONGEST_TEXT = 12_000
LONGEST_SNIPPET = 500

ADZUNA, JSEARCH, BRAVE = "https://api.adzuna.com", "https://jsearch.p.rapidapi.com", "https://api.search.brave.com"
_CURRENCIES = {
    "at": "EUR", "au": "AUD", "be": "EUR", "br": "BRL", "ca": "CAD", "ch": "CHF", "de": "EUR", "es": "EUR", "fr": "EUR",
    "gb": "GBP", "in": "INR", "it": "EUR", "mx": "MXN", "nl": "EUR", "nz": "NZD", "pl": "PLN", "sg": "SGD", "us": "USD",
    "za": "ZAR",
}  # fmt: skip
"""Currencies of Adzuna's countries."""
_BREAKS = pattern(r"<(?:br|/p|/li|/div|/h\d|/tr)\b[^>]*>", re.IGNORECASE)
_TAGS = pattern(r"<[^<>]{0,500}>")
_SPACES = pattern(r"[ \t\u00a0]+")
_LINES = pattern(r"\s*\n\s*\n\s*")
_REMOTE = pattern(r"\b(remote|home ?office|teletrabajo|télétravail|work from home|full[- ]remote)\b", re.IGNORECASE)


@dataclass(frozen=True)
class JobQuery:
    words: str
    place: str = ""
    remote_only: bool = False


@dataclass(frozen=True)
class WebPage:
    title: str
    url: str
    snippet: str


class JobBoard(Protocol):
    @property
    def name(self) -> Board: ...

    @property
    def title(self) -> str:
        """The board's public name."""
        ...

    async def search(self, query: JobQuery, now: float) -> list[Advert]:
        """Return at most `MOST_ADVERTS` adverts. Raises `Unavailable`."""
        ...


@dataclass(frozen=True)
class Adzuna:
    http: httpx2.AsyncClient
    secrets: Secrets = field(repr=False)
    country: str
    base_url: str = ADZUNA
    name: Board = "adzuna"
    title: str = "Adzuna"

    async def search(self, query: JobQuery, now: float) -> list[Advert]:
        return await with_current_key(self.secrets, lambda settings: self._search(settings, query, now))

    async def _search(self, settings: Settings, query: JobQuery, now: float) -> list[Advert]:
        parameters = {
            "app_id": settings.adzuna_app_id,
            "app_key": settings.adzuna_app_key,
            "results_per_page": str(MOST_ADVERTS),
            "what": f"{query.words} remote" if query.remote_only else query.words,
            "max_days_old": "30",
            "sort_by": "date",
        }
        if query.place:
            parameters["where"] = query.place
        answer = await ask(self.http, self.title, f"{self.base_url}/v1/api/jobs/{self.country}/search/1", parameters)
        return _adverts(answer.get("results"), self._advert, now)

    def _advert(self, told: Mapping[str, Any], now: float) -> Advert:
        # Leave out pay that Adzuna only predicts.
        location = told.get("location")
        named = location.get("area") if isinstance(location, dict) else None
        area = [_plain(each, 120) for each in named if isinstance(each, str)][:8] if isinstance(named, list) else []
        predicted = str(told.get("salary_is_predicted", "0")) == "1"
        lowest, highest = (None if predicted else _number(told.get(each)) for each in ("salary_min", "salary_max"))
        return _advert(
            self.name,
            id=told["id"],
            title=told["title"],
            company=_named(told.get("company")),
            place=_named(told.get("location")),
            country=area[0] if area else self.country,
            areas=tuple(area[1:]),
            text=told.get("description"),
            url=told.get("redirect_url"),
            posted_at=_moment(told.get("created")),
            pay=_pay(lowest, highest, _CURRENCIES.get(self.country, ""), "year"),
            attribution="Jobs by Adzuna",
            now=now,
        )


@dataclass(frozen=True)
class JSearch:
    http: httpx2.AsyncClient
    secrets: Secrets = field(repr=False)
    base_url: str = JSEARCH
    name: Board = "jsearch"
    title: str = "JSearch"

    async def search(self, query: JobQuery, now: float) -> list[Advert]:
        return await with_current_key(self.secrets, lambda settings: self._search(settings, query, now))

    async def _search(self, settings: Settings, query: JobQuery, now: float) -> list[Advert]:
        parameters = {
            "query": f"{query.words} in {query.place}" if query.place else query.words,
            "page": "1",
            "num_pages": "1",
            "date_posted": "month",
        }
        if query.remote_only:
            parameters["work_from_home"] = "true"
        headers = {"X-RapidAPI-Key": settings.jsearch_api_key, "X-RapidAPI-Host": JSEARCH.removeprefix("https://")}
        answer = await ask(self.http, self.title, f"{self.base_url}/search", parameters, headers)
        return _adverts(answer.get("data"), self._advert, now)

    def _advert(self, told: Mapping[str, Any], now: float) -> Advert:
        places = (told.get(f"job_{each}") for each in ("city", "state", "country"))
        period = str(told.get("job_salary_period") or "year").lower()
        lowest, highest = _number(told.get("job_min_salary")), _number(told.get("job_max_salary"))
        return _advert(
            self.name,
            id=told["job_id"],
            title=told["job_title"],
            company=str(told.get("employer_name") or ""),
            place=", ".join(str(each) for each in places if each),
            text=told.get("job_description"),
            url=told.get("job_apply_link"),
            posted_at=_number(told.get("job_posted_at_timestamp")),
            ends_at=_number(told.get("job_offer_expiration_timestamp"))
            or _moment(told.get("job_offer_expiration_datetime_utc")),
            country=_plain(told.get("job_country"), 120),
            pay=_pay(lowest, highest, str(told.get("job_salary_currency") or "")[:3].upper(), period),
            is_remote=told.get("job_is_remote") is True,
            attribution=f"Via {_plain(told['job_publisher'], 60)}" if told.get("job_publisher") else "",
            now=now,
        )


@dataclass(frozen=True)
class WebSearch:
    http: httpx2.AsyncClient
    secrets: Secrets = field(repr=False)
    base_url: str = BRAVE
    title: str = "the web search"

    async def search(self, words: str) -> list[WebPage]:
        """Return web pages. Raises `Unavailable`."""
        return await with_current_key(self.secrets, lambda settings: self._search(settings, words))

    async def _search(self, settings: Settings, words: str) -> list[WebPage]:
        headers = {"X-Subscription-Token": settings.search_api_key, "Accept": "application/json"}
        parameters = {"q": words, "count": str(MOST_PAGES)}
        answer = await ask(self.http, self.title, f"{self.base_url}/res/v1/web/search", parameters, headers)
        told = answer.get("web")
        pages = told.get("results") if isinstance(told, dict) else None
        return [
            WebPage(_plain(each.get("title"), 200), url, _plain(each.get("description"), LONGEST_SNIPPET))
            for each in (pages if isinstance(pages, list) else [])[:MOST_PAGES]
            if isinstance(each, dict) and (url := _link(each.get("url")))
        ]


@dataclass(frozen=True)
class JobBoards:
    """The boards and the web search whose keys are set."""

    boards: Sequence[JobBoard] = ()
    web: WebSearch | None = None


def make_job_boards(http: httpx2.AsyncClient, secrets: Secrets) -> JobBoards:
    settings = secrets.settings
    stub = settings.job_boards_url
    boards: list[JobBoard] = []
    if settings.adzuna_app_id and settings.adzuna_app_key:
        boards.append(Adzuna(http, secrets, settings.adzuna_country.lower(), stub or ADZUNA))
    if settings.jsearch_api_key:
        boards.append(JSearch(http, secrets, stub or JSEARCH))
    return JobBoards(boards, WebSearch(http, secrets, stub or BRAVE) if settings.search_api_key else None)


def _adverts(told: Any, advert_of: Any, now: float) -> list[Advert]:
    """Parse the adverts in a list, skipping anything else."""
    found: list[Advert] = []
    for each in (told if isinstance(told, list) else [])[:MOST_ADVERTS]:
        try:
            found.append(advert_of(each, now))
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
    return found


def _advert(board: Board, *, id: Any, title: Any, text: Any, url: Any, now: float, **more: Any) -> Advert:
    title, text = _plain(title, 200), _plain(text, LONGEST_TEXT)
    if not str(id).strip() or not title:
        raise ValueError
    more |= {name: _plain(more.get(name), 120) for name in ("company", "place")}
    more["is_remote"] = bool(more.get("is_remote")) or bool(_REMOTE.search(f"{title} {more['place']}"))
    return Advert(
        id=f"{board}:{str(id)[:120]}",
        title=title,
        text=text,
        url=_link(url),
        language=language_of(f"{title}\n{text}"),
        board=board,
        seen_at=now,
        **more,
    )


def _plain(text: Any, longest: int) -> str:
    """Remove markup, invisible characters and repeated spaces."""
    if not isinstance(text, str):
        return ""
    bare = html.unescape(_TAGS.sub("", _BREAKS.sub("\n", text[: longest * 4])))
    return _LINES.sub("\n\n", _SPACES.sub(" ", visible(bare))).strip()[:longest]


def _link(url: Any) -> str:
    """Return a web address; empty for any other, and for one that hides its host behind a user name."""
    try:
        parts = urlsplit(str(url))
    except ValueError:
        return ""
    is_plain = parts.scheme in ("https", "http") and parts.hostname and "@" not in parts.netloc and "\\" not in str(url)
    return str(url) if is_plain else ""


def _named(value: Any) -> str:
    return str(value.get("display_name") or "") if isinstance(value, dict) else ""


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 < value < 1e11 else None


def _moment(value: Any) -> float | None:
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _pay(lowest: float | None, highest: float | None, currency: str, period: str) -> Pay | None:
    if lowest is None and highest is None:
        return None
    if period not in get_args(Period):
        return None
    return Pay(lowest=lowest, highest=highest, currency=currency, per=period)  # type: ignore[arg-type]
