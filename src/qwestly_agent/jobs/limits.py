"""Hard limits: adverts that a user's wishes rule out. Missing information rules nothing out."""

import re
import unicodedata
from collections.abc import Iterable, Mapping

from qwestly_agent.base.patterns import pattern
from qwestly_agent.domain.job import Advert, JobWishes, Pay

A_YEAR: Mapping[str, float] = {"hour": 1_760.0, "day": 220.0, "week": 46.0, "month": 12.0, "year": 1.0}
"""Number of pay periods in a year of work: 44 weeks of 40 hours, or 220 days."""

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
        "germany/deutschland/alemania/allemagne/de",
        "austria/osterreich/autriche/at",
        "switzerland/schweiz/suisse/suiza/ch",
        "united kingdom/uk/great britain/england/gb",
        "ireland/irland/irlanda/ie",
        "united states/usa/us/u s/america",
        "canada/kanada/ca",
        "spain/spanien/espana/espagne/es",
        "portugal/pt",
        "france/frankreich/francia/fr",
        "netherlands/niederlande/holland/paises bajos/nl",
        "italy/italien/italia/italie/it",
        "poland/polen/polonia/pl",
        "india/indien/in",
        "brazil/brasilien/brasil/br",
        "mexico/mexiko/mx",
        "australia/australien/au",
        "european union/eu/europe/europa",
    )
)
_IN_THE_EU = frozenset(
    ["germany", "austria", "ireland", "spain", "portugal", "france", "netherlands", "italy", "poland"]
)


def exclusion_reason(advert: Advert, wishes: JobWishes) -> str | None:
    """Return a sentence for the user on why the advert is ruled out, or None."""
    if word := next((each for each in wishes.never if _names(advert, each)), None):
        return f"You decided against “{word}”."
    if wishes.remote == "only" and not advert.is_remote:
        return "It is not remote."
    if wishes.remote == "no" and advert.is_remote:
        return "It is remote."
    if wishes.places and advert.place and not advert.is_remote and not _is_in(advert.place, wishes.places):
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


def _is_in(place: str, wanted: Iterable[str]) -> bool:
    here = normalize_words(place)
    return any(normalize_words(name) in here for each in wanted for name in {each, *_other_names(each)})


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
    countries = [each for each in _COUNTRIES if _any_in(each, told)] or [
        each for each in _COUNTRIES if _any_in(each, normalize_words(demands))
    ]
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


def _other_names(name: str) -> Iterable[str]:
    return (each for each in _country_of(name) or () if len(each) > 2)
