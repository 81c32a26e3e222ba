"""Search job boards for the tools and the page: send queries without private data to all boards at once, and return
each job once."""

import asyncio
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from qwestly_agent.base.errors import Invalid, NotFound, Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.base.settings import parse_quotas
from qwestly_agent.clients.job_boards import JobBoard, JobQuery, WebPage
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.job import Advert, JobMatch, JobWishes, match_id
from qwestly_agent.grounding.figures import is_number_word
from qwestly_agent.jobs.wishes import normalize_words, without_excluded
from qwestly_agent.services import Services
from qwestly_agent.stores.jobs import CACHE_SECONDS, LONGEST_CACHE_SECONDS, NO_SUCH_JOB, Adverts
from qwestly_agent.text.clean import mask_secrets
from qwestly_agent.text.contacts import contacts_in
from qwestly_agent.text.language import content_stems, stems_of, tokens_of
from qwestly_agent.text.places import plain_place, same_town, town_key

# --- same job ---------------------------------------------------------------------------------------------------------
# Merge adverts for the same job, from several boards or from one board on several days.


SHINGLE_WORDS = 4
SAME_FROM = 0.5
"""Minimum share of the shorter text's shingles that the longer one must also contain; not 1, because boards truncate
texts."""
FEWEST_SHINGLES = 8
_ENDINGS = "gmbh ag inc ltd llc corp co kg se plc sl sa sas bv limited the group holding company"
_OF_COMPANIES = frozenset(_ENDINGS.split())
_GENDERS = r"(?:[mwfdxhvin]\s*[/|*,]\s*){1,3}[mwfdxhvin]|all genders?|gn|alle geschlechter|tous genres"
_OF_TITLES = re.compile(rf"[(\[]\s*(?:{_GENDERS})\s*[)\]]|(?<![\w/])(?:{_GENDERS})\s*$", re.IGNORECASE)
_BEHIND_A_TITLE = re.compile(r"(?P<title>.+?)\s*(?:[–—|,(]|\s-\s)\s*(?P<behind>[^–—|,()]+)\)?\s*$")


def merge_duplicates(adverts: Iterable[Advert]) -> list[Advert]:
    """Return the first advert of each job, completed with data from its duplicates."""
    jobs: list[Advert] = []
    by_title: dict[str, list[int]] = {}
    for each in adverts:
        same = by_title.setdefault(_title(each), [])
        place = next((number for number in same if is_same(jobs[number], each)), None)
        if place is None:
            same.append(len(jobs))
            jobs.append(each)
        else:
            jobs[place] = _together(jobs[place], each)
    return jobs


def is_same(one: Advert, other: Advert) -> bool:
    """True if both adverts are for the same job: title and company agree, and so do place or text."""
    if one.id == other.id:
        return True
    if _title(one) != _title(other) or not _may_be(_company(one), _company(other)):
        return False
    if not _may_be_near(one, other):
        return False
    share = _shared(one.text, other.text)
    return share >= SAME_FROM if share is not None else bool(_company(one) and _company(other))


def _together(first: Advert, other: Advert) -> Advert:
    longer = max(first, other, key=lambda each: len(each.text))
    more = {
        "text": longer.text,
        "language": longer.language,
        "pay": first.pay or other.pay,
        "place": first.place or other.place,
        "country": first.country or other.country,
        "areas": first.areas or other.areas,
        "way": first.way or other.way,
        "remote_within": first.remote_within or other.remote_within,
        "visa": first.visa or other.visa,
        "ends_at": max(filter(None, (first.ends_at, other.ends_at)), default=None),
        "company": first.company or other.company,
        "url": first.url or other.url,
        "posted_at": min(filter(None, (first.posted_at, other.posted_at)), default=None),
        "attribution": " · ".join(dict.fromkeys(filter(None, (first.attribution, other.attribution)))),
    }
    return first.model_copy(update=more)


def _title(advert: Advert) -> str:
    """Return the title without gender markers, and without the job's place at its end."""
    bare = _OF_TITLES.sub(" ", advert.title).strip()
    found = _BEHIND_A_TITLE.fullmatch(bare)
    here = {"remote", *map(plain_place, advert.areas), *plain_place(advert.place).split()}
    if found and plain_place(found["behind"]) in here:
        bare = found["title"]
    return bare_title(bare)


def _company(advert: Advert) -> str:
    return bare_company(advert.company)


# During a nightly search, each advert is compared with many others.
@lru_cache(maxsize=2_048)
def bare_title(title: str) -> str:
    return normalize_words(_OF_TITLES.sub(" ", title)).strip()


@lru_cache(maxsize=2_048)
def bare_company(company: str) -> str:
    return " ".join(each for each in normalize_words(company).split() if each not in _OF_COMPANIES)


def _may_be_near(one: Advert, other: Advert) -> bool:
    """True if both jobs may be in the same town or, for remote jobs, in the same country."""
    if not _may_be(one.country, other.country):
        return False
    if one.is_remote or other.is_remote:
        return True
    towns = [[*each.areas] or [part for part in each.place.split(",")[:1] if part.strip()] for each in (one, other)]
    return not all(towns) or any(same_town(here, there) for here in towns[0] for there in towns[1])


def _may_be(one: str, other: str) -> bool:
    """True if the values are equal, or one of them is unknown."""
    return not one or not other or one == other


def _shared(one: str, other: str) -> float | None:
    """Return the share of the shorter text's shingles that the longer one contains; None if a text is too short."""
    shorter, longer = sorted((_shingles(one), _shingles(other)), key=len)
    return len(shorter & longer) / len(shorter) if len(shorter) >= FEWEST_SHINGLES else None


def _shingles(text: str) -> set[tuple[str, ...]]:
    words: Sequence[str] = normalize_words(text).split()
    return {tuple(words[at : at + SHINGLE_WORDS]) for at in range(len(words) - SHINGLE_WORDS + 1)}


# --- query ------------------------------------------------------------------------------------------------------------
# Check that a query to a job board or the web contains nothing private about the user.
#
# A model that obeys somebody else's text could write any fact from its prompt into a query. So a query must be short,
# without contact details and long numbers. Once the window contains other people's text, only words from the user's
# newest message, their titles and their places are allowed; before that, a query may not contain any other word known
# about the user.


MOST_WORDS = 8
FEWEST_LETTERS_INSIDE = 5
"""From this length on, private words are also searched for inside other words, and vice versa."""
_THOUSANDS = re.compile(r"(?<=\d)[.,'’ \u00a0\u202f](?=\d{3}(?!\d))")
_LONG_NUMBER = re.compile(r"\d{5}|(?:(?<!\d)\d[\W_]+){3}\d(?!\d)")
"""Five digits in a row, or four separated ones."""
_SEARCH_STEMS = frozenset(
    stems_of(
        "job jobs vacancy stelle stellen stellenangebote emploi emplois offre offres empleo trabajo oferta ofertas vaga"
        " vagas emprego lavoro offerte vacature vacatures remote review reviews salary"
    )
)
"""Stems that reveal nothing about the user: words about searching and jobs."""


@dataclass(frozen=True)
class QueryRule:
    """The rule for what a query may contain in a turn."""

    message: str
    """The user's newest message."""
    titles_and_places: str
    known: str
    """All text about the user in the model's context."""
    has_untrusted_content: bool
    """True if the window contains other people's text."""

    def problem(self, query: str) -> str | None:
        """Return why the query must not be sent, in a sentence for the model; None if it may be sent."""
        plain = unicodedata.normalize("NFKC", query)
        if mask_secrets(plain) != plain or contacts_in(plain):
            return "Nothing was sent: a query contains no contact details and no addresses. Leave them out."
        if _LONG_NUMBER.search(_THOUSANDS.sub("", plain)):
            return "Nothing was sent: a query contains no number with more than four digits. Leave it out."
        if len(tokens_of(plain)) > MOST_WORDS:
            return f"Nothing was sent: a query has at most {MOST_WORDS} words. Shorten it."
        if refused := [*dict.fromkeys(self._refused(plain))]:
            own = "the user's newest message, their titles and their places"
            return f"Nothing was sent: leave out {', '.join(refused)}. Use only words of {own}."
        return None

    def _refused(self, query: str) -> Iterator[str]:
        allowed = _SEARCH_STEMS | {*stems_of(f"{self.message}\n{self.titles_and_places}")}
        known = {*content_stems(self.known)} - allowed
        long = [each for each in known if len(each) >= FEWEST_LETTERS_INSIDE]
        for word in tokens_of(query):
            if allowed.issuperset(stems := content_stems(word)):
                continue
            is_piece = len(word) >= FEWEST_LETTERS_INSIDE and any(word in each for each in long)
            is_known = not known.isdisjoint(stems) or is_piece or any(each in word for each in long)
            if self.has_untrusted_content or is_known or is_number_word(word):
                yield word


def titles_and_places(career: Mapping[str, Any], wishes: JobWishes) -> str:
    """Return the person's titles and places as one text."""
    preferences = career.get("preferences") or {}
    stints = [each for each in career.get("employment") or () if isinstance(each, Mapping)]
    named = [career.get("headline"), career.get("location"), preferences.get("roles"), preferences.get("locations")]
    named += [each.get(name) for each in stints for name in ("title", "location")]
    return "\n".join([*wishes.titles, *wishes.places, *_texts(named)])


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [value] if isinstance(value, str) else []


# --- search -----------------------------------------------------------------------------------------------------------
# Query all boards in parallel, each with a timeout. Failed boards are named, and the results of the others are used.


QUESTIONS_A_DAY = 60
"""Maximum requests per user and day to all boards together; queries answered within the last hour are not repeated."""
SECONDS_TO_A_TURN = 60.0
"""How long each nightly query may wait for a board's per-minute quota."""
NIGHTLY_CACHE_SECONDS = 72_000.0
"""Maximum age of a board's cached answer to the same query, by any user, that a nightly search uses."""
ENOUGH_TODAY = "The boards were asked so often today that the rest waits for tomorrow."


@dataclass(frozen=True)
class FoundJobs:
    adverts: list[Advert]
    """The adverts that are still open, one per job."""
    missing: tuple[str, ...]
    """Sentences about boards that could not be queried."""


async def search_boards(
    services: Services,
    user_id: str,
    queries: Sequence[JobQuery],
    *,
    patience: float = 0.0,
    cached_within: float = CACHE_SECONDS,
) -> FoundJobs:
    """Query the boards and store all adverts. `patience` is the maximum wait for a board's quota, in seconds. Answers
    from the last `cached_within` seconds are reused, for all users."""
    missing: dict[str, None] = {}

    async def query_board(board: JobBoard, query: JobQuery) -> list[Advert]:
        try:
            return await _answer(services, user_id, board, query, patience, cached_within)
        except Unavailable as error:
            missing[error.message] = None
            services.logger.warning(Event.REQUEST_FAILED, extra={"board": board.name, **cause_of(error)})
            return []

    asked = [(board, query) for query in queries for board in services.job_boards.boards]
    told = await asyncio.gather(*(query_board(board, query) for board, query in asked))
    now = services.clock()
    still_open = (each for adverts in told for each in adverts if not each.has_ended(now))
    return FoundJobs(merge_duplicates(still_open), tuple(missing))


async def _answer(
    services: Services, user_id: str, board: JobBoard, query: JobQuery, patience: float, cached_within: float
) -> list[Advert]:
    """Return the board's answer, or a cached answer to the same query by any user. If the board's quota is exhausted, a
    cached answer may be a day old."""
    now = services.clock()
    words = " ".join(sorted(tokens_of(query.words)))
    name = sha256_hex(board.name, words or query.words, town_key(query.place), str(query.remote_only))
    if (known := await services.adverts.cached_answer(name, now, cached_within)) is not None:
        return await _stored_adverts(services.adverts, known)
    if not await services.job_searches.count_board_request(user_id, now, QUESTIONS_A_DAY):
        raise Unavailable(ENOUGH_TODAY)
    if not await _may_ask(services, board, patience):
        if (known := await services.adverts.cached_answer(name, now, LONGEST_CACHE_SECONDS)) is not None:
            return await _stored_adverts(services.adverts, known)
        raise Unavailable(f"{board.title} was asked as often as our licence allows; the rest waits.")
    adverts = await board.search(query, now)
    await services.adverts.save(adverts)
    await services.adverts.cache_answer(name, [each.id for each in adverts], now)
    return adverts


async def _stored_adverts(adverts: Adverts, ids: Sequence[str]) -> list[Advert]:
    kept = await adverts.get_many(ids)
    return [kept[each] for each in ids if each in kept]


async def _may_ask(services: Services, board: JobBoard, patience: float) -> bool:
    """Count the request. Returns False if our key's quota does not allow it within `patience` seconds."""
    quota = parse_quotas(services.settings.job_board_quotas).get(board.name)
    while quota and (wait := await services.adverts.count_request(board.name, services.clock(), *quota)):
        if wait > patience:
            return False
        await asyncio.sleep(wait)
        patience -= wait
    return True


# --- service ----------------------------------------------------------------------------------------------------------
# Jobs within a running turn, for the tools.


MOST_SHOWN = 8


@dataclass(frozen=True)
class JobService:
    services: Services
    user_id: str

    async def search(self, words: str, place: str, remote_only: bool) -> tuple[list[Advert], tuple[str, ...]]:
        """Return jobs from the boards, without those that the user's wishes exclude, and sentences on how many were
        excluded and why, and on boards that could not be queried."""
        found = await search_boards(self.services, self.user_id, [JobQuery(words, place, remote_only)])
        wishes = (await self.services.job_searches.get(self.user_id)).wishes
        fits, ruled_out = without_excluded(found.adverts, wishes)
        return fits[:MOST_SHOWN], (*ruled_out, *found.missing)

    async def read(self, job_id: str) -> tuple[Advert, JobMatch | None]:
        """Return a match, or an advert from a search. Raises `NotFound`."""
        if job_id.startswith("job_"):
            match = await self.services.job_matches.get(self.user_id, job_id)
            return match.advert, match
        found = await self.services.adverts.get_many([job_id])
        if job_id not in found:
            raise NotFound(NO_SUCH_JOB)
        return found[job_id], None

    async def keep(self, job_id: str) -> JobMatch:
        """Return the match; an advert from a search is saved as a match the first time. Raises `NotFound`."""
        advert, match = await self.read(job_id)
        if match:
            return match
        now, new_id = self.services.clock(), match_id(self.user_id, advert.id)
        new = JobMatch(
            id=new_id, user_id=self.user_id, run_id="", advert=advert, status="saved", found_at=now, updated_at=now
        )
        return await self.services.job_matches.add_or_get(new)

    async def matches(self, limit: int) -> list[JobMatch]:
        newest = await self.services.job_matches.newest(self.user_id, limit * 2)
        return [each for each in newest if each.status != "hidden"][:limit]

    async def search_web(self, words: str) -> list[WebPage]:
        """Search the web. Raises `Invalid` if the day's limit is reached, and `Unavailable`."""
        web = self.services.job_boards.web
        if web is None or not await self.services.job_searches.count_board_request(
            self.user_id, self.services.clock(), QUESTIONS_A_DAY
        ):
            raise Invalid("The web can be searched again tomorrow.")
        return await web.search(words)
