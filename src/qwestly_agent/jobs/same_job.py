"""Merge adverts of the same job, from several boards or from one board on several days."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from qwestly_agent.domain.job import Advert
from qwestly_agent.jobs.limits import normalize_words

SHINGLE_WORDS = 4
SAME_FROM = 0.5
"""Minimum share of the shorter text's shingles, because boards truncate texts."""
FEWEST_SHINGLES = 8
_ENDINGS = "gmbh ag inc ltd llc corp co kg se plc sl sa sas bv limited the group holding company"
_OF_COMPANIES = frozenset(_ENDINGS.split())
_OF_TITLES = re.compile(
    r"\((?:[mwfdxhvi]\s*[/|]\s*)+[mwfdxhvi]\)|\b(?:m/w/d|f/m/d|m/f/d|h/f|all genders)\b", re.IGNORECASE
)


def merge_duplicates(adverts: Iterable[Advert]) -> list[Advert]:
    """Return the first advert of each job, completed from its duplicates."""
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
    share = _shared(one.text, other.text)
    if share is not None:
        return share >= SAME_FROM and (one.is_remote or other.is_remote or _may_be(_city(one), _city(other)))
    return bool(_company(one)) and _may_be(_city(one), _city(other))


def _together(first: Advert, other: Advert) -> Advert:
    longer = max(first, other, key=lambda each: len(each.text))
    more = {
        "text": longer.text,
        "language": longer.language,
        "pay": first.pay or other.pay,
        "place": first.place or other.place,
        "country": first.country or other.country,
        "areas": first.areas or other.areas,
        "ends_at": max(filter(None, (first.ends_at, other.ends_at)), default=None),
        "company": first.company or other.company,
        "url": first.url or other.url,
        "posted_at": min(filter(None, (first.posted_at, other.posted_at)), default=None),
        "attribution": " · ".join(dict.fromkeys(filter(None, (first.attribution, other.attribution)))),
    }
    return first.model_copy(update=more)


def _title(advert: Advert) -> str:
    return bare_title(advert.title)


def _company(advert: Advert) -> str:
    return bare_company(advert.company)


# Each of a night's adverts is compared with many others.
@lru_cache(maxsize=2_048)
def bare_title(title: str) -> str:
    return normalize_words(_OF_TITLES.sub(" ", title)).strip()


@lru_cache(maxsize=2_048)
def bare_company(company: str) -> str:
    return " ".join(each for each in normalize_words(company).split() if each not in _OF_COMPANIES)


def _city(advert: Advert) -> str:
    return normalize_words(advert.place.split(",")[0]).strip()


def _may_be(one: str, other: str) -> bool:
    """True if they are equal, or one of them is unknown."""
    return not one or not other or one == other


def _shared(one: str, other: str) -> float | None:
    """Return the share of the shorter text's shingles in the longer one; None if a text is too short."""
    shorter, longer = sorted((_shingles(one), _shingles(other)), key=len)
    return len(shorter & longer) / len(shorter) if len(shorter) >= FEWEST_SHINGLES else None


def _shingles(text: str) -> set[tuple[str, ...]]:
    words: Sequence[str] = normalize_words(text).split()
    return {tuple(words[at : at + SHINGLE_WORDS]) for at in range(len(words) - SHINGLE_WORDS + 1)}
