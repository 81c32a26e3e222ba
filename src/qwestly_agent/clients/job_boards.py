"""Requests to job boards and the web search, and their responses: Adzuna, JSearch and Brave."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import httpx2

from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.settings import Secrets, Settings
from qwestly_agent.clients.job_adverts import (
    MOST_ADVERTS,
    adverts_in,
    from_adzuna,
    from_jsearch,
    link_in,
    plain_text,
)
from qwestly_agent.domain.job import Advert, Board

# --- job board requests -----------------------------------------------------------------------------------------------
# Requests to job boards: at most two attempts within `TIMEOUT_SECONDS`, and another if our key is rejected and was
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
    """Send a request to a board and return its JSON. Raises `Unavailable` with a sentence that names the board."""
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
# The job boards Adzuna and JSearch, and the web search Brave. All their responses are untrusted text.


MOST_PAGES = 8
LONGEST_SNIPPET = 500

ADZUNA, JSEARCH, BRAVE = "https://api.adzuna.com", "https://jsearch.p.rapidapi.com", "https://api.search.brave.com"


@dataclass(frozen=True)
class JobQuery:
    words: str
    place: str = ""
    remote_only: bool = False

    @property
    def label(self) -> str:
        """The query in words, as shown to its user."""
        return f"{self.words} in {self.place}" if self.place else self.words + " (remote)" * self.remote_only


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
        return adverts_in(answer.get("results"), lambda told: from_adzuna(told, self.country, now))


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
        return adverts_in(answer.get("data"), lambda told: from_jsearch(told, now))


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
            WebPage(plain_text(each.get("title"), 200), url, plain_text(each.get("description"), LONGEST_SNIPPET))
            for each in (pages if isinstance(pages, list) else [])[:MOST_PAGES]
            if isinstance(each, dict) and (url := link_in(each.get("url")))
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
