"""A user's profile for comparison with jobs: hard limits, weights learned from thumbs, and evidence of their
experience."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from qwestly_agent.base.patterns import pattern
from qwestly_agent.cards.evidence import gather
from qwestly_agent.domain.card import Evidence
from qwestly_agent.domain.job import Advert, JobWishes, Pay, Verdict
from qwestly_agent.services import Services
from qwestly_agent.stores.jobs import JobMatches, JobSearch
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.places import countries_of, home_countries, is_in, plain_place

# --- limits -----------------------------------------------------------------------------------------------------------
# Hard limits: adverts that a user's wishes exclude. Anything unclear in an advert excludes nothing.


_WITHOUT_BLANKS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Scripts that are written without spaces between words."""
MOST_LETTERS_OF_NAMES = 3
_IN_A_WORD = rf"[^\W{_WITHOUT_BLANKS}]"


def without_excluded(adverts: Sequence[Advert], wishes: JobWishes) -> tuple[list[Advert], tuple[str, ...]]:
    """Return the adverts that the wishes allow, and a sentence on how many each wish excluded."""
    fits, counts = list[Advert](), Counter[str]()
    for each in adverts:
        if wish := excluding_wish(each, wishes):
            counts[wish] += 1
        else:
            fits.append(each)
    if not counts:
        return fits, ()
    found = f"{len(adverts)} {'job' if len(adverts) == 1 else 'jobs'} found"
    all_of_them = "all " if len(adverts) in counts.values() and len(adverts) > 1 else ""
    named = ", ".join(f"{wish} ruled out {all_of_them}{count}" for wish, count in counts.most_common())
    return fits, (f"{found}; {named}.",)


def excluding_wish(advert: Advert, wishes: JobWishes) -> str | None:
    """Return the name of the wish that clearly excludes the advert, or None."""
    if word := next((each for each in wishes.never if _names(advert, each)), None):
        return f"your wish for no “{word}”"
    if wishes.remote == "only" and advert.way in ("on_site", "hybrid"):
        return "your wish for remote jobs only"
    if wishes.remote == "no" and advert.is_remote:
        return "your wish for no remote jobs"
    if advert.is_remote:
        if not _may_work_remotely(advert, wishes):
            return f"your wish to work from {' or '.join(wishes.places or wishes.work_permits)}"
    elif wishes.places and all(is_in(advert.country, advert.areas, each) is False for each in wishes.places):
        return f"your wish for {' or '.join(wishes.places)}"
    if wishes.pay_from and advert.pay and _is_less(advert.pay, advert.country, wishes):
        return f"your wish for pay from {wishes.pay_from:,.0f} {wishes.pay_currency or ''}".rstrip()
    if wishes.languages and advert.language and advert.language not in map(str.lower, wishes.languages):
        return f"your wish for postings in {' or '.join(wishes.languages)}"
    if advert.visa == "not_sponsored" and not _may_work(advert, wishes.work_permits):
        return f"your permits for {' and '.join(wishes.work_permits)} alone"
    return None


def normalize_words(text: str) -> str:
    """Return lower-case words without accents and punctuation, with a space at both ends."""
    return f" {plain_place(text)} "


def _names(advert: Advert, word: str) -> bool:
    """True if the company, title or text contains this word or sequence of words, including its signs: "C++"."""
    if not word.strip():
        return False
    is_cased = len(name := word.strip()) <= MOST_LETTERS_OF_NAMES and name.isalpha() and name[0].isupper()  # "Go"
    fold = _without_accents if is_cased else _bare
    return any(_as_word(fold(word)).search(fold(each)) for each in (advert.company, advert.title, advert.text))


@lru_cache(maxsize=512)
def _as_word(word: str) -> re.Pattern[str]:
    bare = word.split()
    first, last = bare[0][0], bare[-1][-1]
    before = rf"(?<!{_IN_A_WORD})" if re.match(_IN_A_WORD, first) else ""
    after = rf"(?!{_IN_A_WORD}|[+#])" if re.match(_IN_A_WORD, last) else rf"(?!{re.escape(last)})"
    if not re.match(_IN_A_WORD, last) and re.match(r"\w", last):
        after = ""
    if before and bare == [first]:  # a single letter does not match an initial or half of "R&D"
        before, after = rf"{before}(?<!&)", rf"{after}(?!&|['’]|\.\s*\w)"
    *words, end = map(re.escape, bare)
    if end.isalpha() and len(end) > MOST_LETTERS_OF_NAMES:  # "bank" also matches "banks"
        end = f"{end.removesuffix('s')}s?"
    return re.compile(before + r"[\s_–-]+".join((*words, end)) + after)


def _bare(text: str) -> str:
    return _without_accents(text).casefold()


@lru_cache(maxsize=512)
def _without_accents(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", "".join(each for each in plain if not unicodedata.combining(each)))


def _is_less(pay: Pay, country: str, wishes: JobWishes) -> bool:
    most, wanted = pay.most_a_year(country), wishes.pay_from
    is_same = not wishes.pay_currency or not pay.currency or wishes.pay_currency == pay.currency
    return most is not None and wanted is not None and is_same and most < wanted


def _may_work_remotely(advert: Advert, wishes: JobWishes) -> bool:
    """False if remote workers must be in other countries than those of the user's places and permits."""
    stated = [countries_of(each) for each in advert.remote_within]
    allowed = frozenset(code for each in stated for code in each) if all(stated) else frozenset[str]()
    if not stated and wishes.places and advert.country:
        allowed = frozenset((advert.country,))
    home = home_countries((*wishes.places, *wishes.work_permits))
    return not allowed or not home or bool(allowed & home)


def _may_work(advert: Advert, permits: Sequence[str]) -> bool:
    """True if the job's country is among the permits or unknown."""
    named = [countries_of(each) for each in permits]
    return not advert.country or not named or not all(named) or any(advert.country in each for each in named)


# --- weights ----------------------------------------------------------------------------------------------------------
# Learn from thumbs: a weight for each feature of a job, which the user can read and reset.


STEP: Mapping[Verdict, int] = {"up": 10, "down": -10, "not_this_kind": -25}
"""In hundredths, so that sums are exact in any order."""
MOST = 0.5
"""Maximum weight of one feature, in either direction."""
MOST_OF_ALL = 0.5
"""Maximum contribution of all features to a job's fit, which is between 0 and 1."""
MOST_FEATURES = 500
_WORDS_OF_ALL_TITLES = """
and the for with und der die das mit für fur von de la el los las en of in to at on or para senior junior full part time
teilzeit vollzeit
"""
_NO_FEATURES = frozenset(_WORDS_OF_ALL_TITLES.split())


def features_of(advert: Advert) -> tuple[str, ...]:
    """Return features such as `title:backend`, `company:acme`, `remote`."""
    return tuple(dict.fromkeys(_features(advert)))


async def weights_of(job_matches: JobMatches, search: JobSearch, wishes: JobWishes) -> dict[str, float]:
    """Compute the weights from the user's current thumbs, ignoring those from before the last reset."""
    return learn(await job_matches.list_verdicts(search.user_id, search.thumbs_since), wishes)


def learn(verdicts: Iterable[tuple[Advert, Verdict]], wishes: JobWishes) -> dict[str, float]:
    """Return the weights. "Not this kind" counts for the title, not for the company. Words in the wished titles get no
    weight, because a thumb on one job is not about everything that the person looks for."""
    own = {f"title:{word}" for title in wishes.titles for word in normalize_words(title).split()}
    own |= {"remote"} if wishes.remote == "only" else set()
    sums = Counter[str]()
    for advert, verdict in verdicts:
        for each in features_of(advert):
            if each in own:
                continue
            if verdict != "not_this_kind" or each.startswith("title:"):
                sums[each] += STEP[verdict]
    weights = {each: round(max(-MOST, min(MOST, total / 100)), 3) for each, total in sums.items() if total}
    return dict(sorted(weights.items(), key=lambda each: (-abs(each[1]), each[0]))[:MOST_FEATURES])


def learned_weight(weights: Mapping[str, float], advert: Advert) -> float:
    """Return the weights' contribution to this job's fit."""
    return max(-MOST_OF_ALL, min(MOST_OF_ALL, sum(weights.get(each, 0.0) for each in features_of(advert))))


def describe_weights(weights: Mapping[str, float]) -> list[tuple[str, float]]:
    """Describe each weight in words, the strongest first."""
    strongest = sorted(weights.items(), key=lambda each: -abs(each[1]))
    return [(_in_words(feature, weight), weight) for feature, weight in strongest]


def _in_words(feature: str, weight: float) -> str:
    kind, _, word = feature.partition(":")
    what = {"title": f"jobs with “{word}” in the title", "company": f"jobs at {word}"}.get(kind, "remote jobs")
    return f"{'More' if weight > 0 else 'Fewer'} {what}"


def _features(advert: Advert) -> Iterator[str]:
    yield from (
        f"title:{each}" for each in normalize_words(advert.title).split() if len(each) > 1 and each not in _NO_FEATURES
    )
    if company := normalize_words(advert.company).strip():
        yield f"company:{company}"
    if advert.is_remote:
        yield "remote"


# --- person -----------------------------------------------------------------------------------------------------------
# The user for comparison with jobs: their wishes, and evidence of their experience.


MOST_EVIDENCE = 24
MOST_CHARACTERS = 9_000
MOST_OF_ONE = 900
MOST_MEMORIES = 100


@dataclass(frozen=True)
class Person:
    wishes: JobWishes
    evidence: Mapping[str, Evidence]

    @property
    def words(self) -> str:
        """The text that adverts are compared with, by words and by vectors."""
        told = " ".join(each.text for each in self.evidence.values())
        return f"{' '.join(self.wishes.titles)} {told}"[:4_000]


async def person_of(services: Services, user_id: str) -> Person:
    """Read the user's job wishes and evidence; missing wishes default to the profile."""
    search = await services.job_searches.get(user_id)
    found = [each.evidence for each in await gather(services, user_id) if each.evidence.publishable]
    evidence: dict[str, Evidence] = {}
    left = MOST_CHARACTERS
    for each in found[:MOST_EVIDENCE]:
        short = each.model_copy(update={"text": quoted(each.text)[:MOST_OF_ONE]})
        if (left := left - len(short.text)) < 0:
            break
        evidence[each.id] = short
    return Person(await wishes_of(services, search), evidence)


async def wishes_of(services: Services, search: JobSearch) -> JobWishes:
    """Return the user's wishes, with missing titles and places taken from their profile."""
    wishes = search.wishes
    if wishes.titles and wishes.places:
        return wishes
    profile = await services.profiles.get_career(search.user_id)
    return wishes.model_copy(update=_from_profile(wishes, profile))


_RULED_OUT = tuple(
    pattern(f"{said} (?P<what>[\\w&+#. -]{{2,40}}?){ends}", re.IGNORECASE)
    for said, ends in (
        (
            r"(?:.{1,9} )?(?:decided|wants?) (?:not|never) to (?:apply|work|go back)(?: to| for| at| in)",
            "(?: any ?more| again)?",
        ),
        (r"(?:.{1,9} )?(?:do(?:es)?(?: not|n't)|no longer) wants? to work(?: for| at| in)", "(?: any ?more| again)?"),
        (r"no(?: more)?", "(?: jobs| work)?(?: any ?more| again)"),
        (r"(?:.{1,9} )?(?:no more|ruled out)", "(?: jobs| work)"),
        (r"(?:.{1,9} )?(?:nicht|nie) (?:mehr|wieder) (?:bei|in|für|zu)", "(?: arbeiten)?"),
        (r"keine?", " mehr"),
        (r"no qui(?:ero|ere) (?:volver a )?trabajar (?:en|con|para)", ""),
        (r"(?:je )?ne veu[xt] plus travailler (?:dans|pour|avec|chez)(?: une?| des| les| la| le)?", ""),
        (r"não qu(?:ero|er) (?:mais )?trabalhar (?:em|com|para|num|numa)", ""),
    )
)
"""Whole sentences that exclude something; no other sentence leads to a suggestion."""


async def suggestions_of(services: Services, search: JobSearch) -> list[tuple[str, str, str]]:
    """Return suggested values for wishes, each with its field and the person's words (empty if it comes from the
    profile)."""
    wishes = await wishes_of(services, search)
    found = [(name, value, "") for name in ("titles", "places") for value in getattr(wishes, name)]
    suggested = [each for each in found if not getattr(search.wishes, each[0])]
    known = {each.casefold() for each in wishes.never}
    for memory in await services.memories.most_salient(search.user_id, MOST_MEMORIES):
        said = [memory.quote, memory.content] if memory.trust == "user_said" else []
        for words in (each.strip(" .!\n") for each in said):
            match = next((found for each in _RULED_OUT if (found := each.fullmatch(words))), None)
            if match and match["what"].casefold() not in known:
                known.add(match["what"].casefold())
                suggested.append(("never", match["what"], memory.quote or memory.content))
    return suggested


def _from_profile(wishes: JobWishes, profile: Mapping[str, Any]) -> dict[str, Any]:
    preferences = profile.get("preferences") or {}
    titles = _texts(preferences.get("roles")) or _texts(profile.get("headline"))[:1]
    places = _texts(preferences.get("locations"))
    return {"titles": wishes.titles or tuple(titles[:3]), "places": wishes.places or tuple(places[:5])}


def _texts(value: Any) -> list[str]:
    found = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [each.strip()[:100] for each in found if isinstance(each, str) and each.strip()]
