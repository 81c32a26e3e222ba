"""A user for comparison with jobs: hard limits, weights learned from thumbs, and the evidence of their experience."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from qwestly_agent.base.patterns import pattern
from qwestly_agent.cards.evidence import gather
from qwestly_agent.domain.card import Evidence
from qwestly_agent.domain.job import Advert, JobWishes, Pay, Verdict
from qwestly_agent.services import Services
from qwestly_agent.stores.jobs import JobMatches, JobSearch
from qwestly_agent.text.clean import quoted

# --- limits -----------------------------------------------------------------------------------------------------------
# Hard limits: adverts that a user's wishes rule out. Missing information rules nothing out.


A_YEAR: Mapping[str, float] = {"hour": 1_760.0, "day": 220.0, "week": 46.0, "month": 12.0, "year": 1.0}
"""Number of pay periods in a year of work: 44 weeks of 40 hours, or 220 days."""
MOST_REASONS = 3

_NO_SPONSORSHIP = pattern(
    r"\b(?:no|not|without|unable to(?: offer| provide)?|cannot(?: offer| provide)?|does not(?: offer| provide)?)\s+"
    r"(?:visa\s+)?sponsor(?:ship|ing)?\b|\bright to work\b|\b(?:work|employment) authori[sz]ation\b|"
    r"\bauthori[sz]ed to work\b|\b(?:gültige )?arbeitserlaubnis\b|\bpermiso de trabajo\b|\bpermis de travail\b",
    re.IGNORECASE,
)
_WORD = pattern(r"[^\W_]+")
_COUNTRIES: tuple[frozenset[str], ...] = tuple(
    frozenset(each.split("/"))
    for each in (
        "germany/deutschland/alemania/allemagne/alemanha/germania/niemcy/de",
        "austria/osterreich/autriche/at",
        "switzerland/schweiz/suisse/suiza/svizzera/ch",
        "united kingdom/uk/great britain/england/scotland/wales/northern ireland/gb",
        "ireland/irland/irlanda/ie",
        "united states/united states of america/usa/us/u s/u s a/america/estados unidos/etats unis/vereinigte staaten",
        "canada/kanada/ca",
        "spain/spanien/espana/espagne/espanha/es",
        "portugal/pt",
        "france/frankreich/francia/franca/fr",
        "netherlands/the netherlands/niederlande/nederland/holland/paises bajos/pays bas/nl",
        "belgium/belgien/belgique/belgie/belgica/be",
        "luxembourg/luxemburg/lu",
        "italy/italien/italia/italie/it",
        "poland/polen/polonia/polska/pologne/pl",
        "czechia/czech republic/tschechien/cesko/cz",
        "hungary/ungarn/magyarorszag/hu",
        "romania/rumanien/ro",
        "greece/griechenland/grecia/gr",
        "denmark/danemark/danmark/dk",
        "sweden/schweden/sverige/se",
        "norway/norwegen/norge/no",
        "finland/finnland/suomi/fi",
        "estonia/estland/eesti/ee",
        "turkey/turkiye/turkei/tr",
        "ukraine/ua",
        "india/indien/bharat/in",
        "singapore/singapur/sg",
        "japan/jp",
        "china/cn",
        "south korea/korea/kr",
        "philippines/ph",
        "united arab emirates/uae/emirates/ae",
        "israel/il",
        "south africa/sudafrika/za",
        "nigeria/ng",
        "kenya/ke",
        "brazil/brasilien/brasil/br",
        "argentina/argentinien/ar",
        "chile/cl",
        "colombia/kolumbien/co",
        "mexico/mexiko/mx",
        "australia/australien/au",
        "new zealand/neuseeland/nz",
        "european union/eu/europe/europa",
    )
)
_TOWNS: tuple[frozenset[str], ...] = tuple(
    frozenset(each.split("/"))
    for each in (
        "munich/munchen/muenchen", "cologne/koln/koeln", "nuremberg/nurnberg/nuernberg", "hanover/hannover",
        "dusseldorf/duesseldorf", "vienna/wien", "zurich/zuerich", "geneva/geneve/genf", "basel/bale", "bern/berne",
        "lisbon/lisboa/lissabon/lisbonne", "porto/oporto", "seville/sevilla", "rome/roma/rom", "milan/milano/mailand",
        "turin/torino", "florence/firenze/florenz", "naples/napoli/neapel", "venice/venezia/venedig",
        "genoa/genova", "prague/praha/prag", "warsaw/warszawa/warschau", "krakow/cracow/krakau", "gdansk/danzig",
        "wroclaw/breslau", "brussels/bruxelles/brussel/brussel", "antwerp/antwerpen/anvers", "ghent/gent/gand",
        "the hague/den haag/s gravenhage", "copenhagen/kobenhavn/københavn/kopenhagen", "gothenburg/goteborg",
        "athens/athina/athen", "bucharest/bucuresti/bukarest", "kyiv/kiev", "tallinn/reval", "helsinki/helsingfors",
        "new york/new york city/nyc", "mexico city/ciudad de mexico", "sao paulo/são paulo", "bangalore/bengaluru",
        "mumbai/bombay", "beijing/peking", "washington/washington d c/washington dc",
    )
)  # fmt: skip
"""Names of the same town in several languages, as `normalize_words` writes them."""
_IN_THE_EU = frozenset(
    (
        "germany",
        "austria",
        "ireland",
        "spain",
        "portugal",
        "france",
        "netherlands",
        "italy",
        "poland",
        "belgium",
        "luxembourg",
        "czechia",
        "hungary",
        "romania",
        "greece",
        "denmark",
        "sweden",
        "finland",
        "estonia",
    )
)


def without_excluded(adverts: Iterable[Advert], wishes: JobWishes) -> tuple[list[Advert], tuple[str, ...]]:
    """Return the adverts that the wishes allow, and a sentence on the others: how many, and the commonest reasons."""
    fits, reasons = list[Advert](), Counter[str]()
    for each in adverts:
        if reason := exclusion_reason(each, wishes):
            reasons[reason] += 1
        else:
            fits.append(each)
    if not reasons:
        return fits, ()
    count, named = reasons.total(), " ".join(reason for reason, _ in reasons.most_common(MOST_REASONS))
    return fits, (f"Your wishes ruled out {count} {'job' if count == 1 else 'jobs'} that the boards have: {named}",)


def exclusion_reason(advert: Advert, wishes: JobWishes) -> str | None:
    """Return a sentence for the user on why the advert is ruled out, or None."""
    if word := next((each for each in wishes.never if _names(advert, each)), None):
        return f"You decided against “{word}”."
    if wishes.remote == "only" and not advert.is_remote:
        return "It is not remote."
    if wishes.remote == "no" and advert.is_remote:
        return "It is remote."
    if wishes.places and advert.place and not advert.is_remote and not _is_in(advert, wishes.places):
        return f"It is in {advert.place}."
    if wishes.pay_from and advert.pay and _is_less(advert.pay, wishes.pay_from, wishes.pay_currency):
        return "It pays less than you want."
    if wishes.languages and advert.language and advert.language not in map(str.lower, wishes.languages):
        return "It is written in another language."
    if wishes.work_permits and _NO_SPONSORSHIP.search(advert.text) and not _may_work(advert, wishes.work_permits):
        return "It asks for a permission to work that you did not name."
    return None


def annual_pay(pay: Pay) -> float | None:
    """Return the highest annual pay of the range, in its currency."""
    most = pay.highest if pay.highest is not None else pay.lowest
    return None if most is None else most * A_YEAR[pay.per]


def normalize_words(text: str) -> str:
    """Return lower-case words without accents and punctuation, with a blank at both ends."""
    bare = "".join(each for each in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(each))
    words = " ".join(_WORD.findall(bare))
    return f" {words} "


def _is_in(advert: Advert, wanted: Iterable[str]) -> bool:
    """True if the advert is in a wanted country, region or town, each as it may be written: "Berlin, Germany" is the
    town in that country."""
    told = " ".join(map(normalize_words, (advert.place, *advert.areas)))
    country = _country_of(advert.country)
    for wish in wanted:
        *towns, last = [each.strip() for each in wish.split(",") if each.strip()] or [wish]
        land = _country_of(last)
        if land is None:
            towns, is_there = [*towns, last], True
        elif country:
            is_there = _covers(land, country)
        else:  # the board names no country: by its name in the place, or unknown beside a town
            is_there = any(f" {name} " in told for name in land if len(name) > 2) or bool(towns)
        if is_there and all(_is_named(each, told) for each in towns[:1]):
            return True
    return False


def _is_named(town: str, told: str) -> bool:
    name = normalize_words(town).strip()
    same = next((each for each in _TOWNS if name in each), frozenset((name,)))
    return any(f" {each} " in told for each in same)


def _names(advert: Advert, word: str) -> bool:
    """True if the company, title or text contains this word or sequence of words."""
    return bool(word.strip()) and any(
        normalize_words(word) in normalize_words(each) for each in (advert.company, advert.title, advert.text)
    )


def _is_less(pay: Pay, wanted: float, currency: str | None) -> bool:
    most = annual_pay(pay)
    return most is not None and (not currency or not pay.currency or currency == pay.currency) and most < wanted


def _may_work(advert: Advert, permits: Iterable[str]) -> bool:
    """True if the job's country is among the permits, or unknown."""
    demands = " ".join(
        advert.text[max(0, m.start() - 80) : m.end() + 80] for m in _NO_SPONSORSHIP.finditer(advert.text)
    )
    told = normalize_words(advert.place)
    known = _country_of(advert.country)
    countries = [known] if known else [each for each in _COUNTRIES if _any_in(each, told)]
    countries = countries or [each for each in _COUNTRIES if _any_in(each, normalize_words(demands))]
    if not countries:
        return True
    mine = [_country_of(each) for each in permits]
    return any(_covers(each, country) for each in mine if each for country in countries)


def _covers(permit: frozenset[str], country: frozenset[str]) -> bool:
    return permit == country or ("eu" in permit and bool(_IN_THE_EU & country))


def _any_in(names: Iterable[str], text: str) -> bool:
    return any(f" {name} " in text for name in names if len(name) > 2 or name in ("uk", "us", "eu"))


def _country_of(name: str) -> frozenset[str] | None:
    return next((each for each in _COUNTRIES if normalize_words(name).strip() in each), None)


# --- weights ----------------------------------------------------------------------------------------------------------
# Learn from thumbs: a weight for each feature of a job, which the user can read and reset.


STEP: Mapping[Verdict, int] = {"up": 10, "down": -10, "not_this_kind": -25}
"""Hundredths, so that sums are exact in any order."""
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


async def weights_of(job_matches: JobMatches, search: JobSearch) -> dict[str, float]:
    """Compute the weights from the user's current thumbs, without those from before the last reset."""
    return learn(await job_matches.list_verdicts(search.user_id, search.thumbs_since))


def learn(verdicts: Iterable[tuple[Advert, Verdict]]) -> dict[str, float]:
    """Return the weights. "Not this kind" counts for the title, not for the company."""
    sums = Counter[str]()
    for advert, verdict in verdicts:
        for each in features_of(advert):
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
# The user for comparison with jobs: their wishes, and the evidence of their experience.


MOST_EVIDENCE = 24
MOST_CHARACTERS = 9_000
MOST_OF_ONE = 900


@dataclass(frozen=True)
class Person:
    wishes: JobWishes
    evidence: Mapping[str, Evidence]

    @property
    def words(self) -> str:
        """The text to which adverts are compared, by words and by vectors."""
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
    wishes = search.wishes
    if not wishes.titles or not wishes.places:
        profile = await services.profiles.get_career(user_id)
        wishes = wishes.model_copy(update=_from_profile(wishes, profile))
    return Person(wishes, evidence)


def _from_profile(wishes: JobWishes, profile: Mapping[str, Any]) -> dict[str, Any]:
    preferences = profile.get("preferences") or {}
    titles = _texts(preferences.get("roles")) or _texts(profile.get("headline"))[:1]
    places = _texts(preferences.get("locations"))
    return {"titles": wishes.titles or tuple(titles[:3]), "places": wishes.places or tuple(places[:5])}


def _texts(value: Any) -> list[str]:
    found = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [each.strip()[:100] for each in found if isinstance(each, str) and each.strip()]
