"""Adverts from Adzuna and JSearch, normalized once. Anything that a board does not state clearly stays unknown."""

import html
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, get_args
from urllib.parse import urlsplit

from qwestly_agent.base.patterns import pattern
from qwestly_agent.domain.job import Advert, Board, Pay, Period, Visa, Way
from qwestly_agent.text.clean import visible
from qwestly_agent.text.language import language_of
from qwestly_agent.text.places import countries_of, country_of

MOST_ADVERTS = 50
"""Maximum number of adverts per query."""
LONGEST_TEXT = 12_000
_CURRENCIES = {
    "at": "EUR", "au": "AUD", "be": "EUR", "br": "BRL", "ca": "CAD", "ch": "CHF", "de": "EUR", "es": "EUR", "fr": "EUR",
    "gb": "GBP", "in": "INR", "it": "EUR", "mx": "MXN", "nl": "EUR", "nz": "NZD", "pl": "PLN", "sg": "SGD", "us": "USD",
    "za": "ZAR",
}  # fmt: skip
"""Currencies by Adzuna country."""
_STRONG = frozenset(["EUR", "GBP", "USD", "CHF", "CAD", "AUD", "NZD", "SGD"])
YEARLY_FROM = {"PLN": 36_000.0, "BRL": 30_000.0, "MXN": 100_000.0, "ZAR": 100_000.0, "INR": 150_000.0}
"""Adzuna states yearly pay, but also daily pay for contracts: for smaller amounts the period is unknown."""
YEARLY_FROM_ELSEWHERE = 10_000.0


def adverts_in(told: Any, advert_of: Callable[[Any], Advert]) -> list[Advert]:
    """Parse the adverts in a list, skipping anything else."""
    found: list[Advert] = []
    for each in (told if isinstance(told, list) else [])[:MOST_ADVERTS]:
        try:
            found.append(advert_of(each))
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
    return found


def from_adzuna(told: Mapping[str, Any], country: str, now: float) -> Advert:
    """`location.area` begins with the country. Pay that Adzuna only predicts is left out."""
    location = told.get("location")
    named = location.get("area") if isinstance(location, dict) else None
    area = [plain_text(each, 120) for each in named if isinstance(each, str)][:8] if isinstance(named, list) else []
    place = ", ".join(dict.fromkeys(plain_text(_named(location), 120).split(", ")))
    predicted = str(told.get("salary_is_predicted", "0")) == "1"
    lowest, highest = (None if predicted else _number(told.get(each)) for each in ("salary_min", "salary_max"))
    code = (country_of(area[0]) if area else "") or country_of(country)
    currency = _CURRENCIES.get(code.lower(), "")
    least = min(filter(None, (lowest, highest)), default=0.0)
    is_yearly = least >= YEARLY_FROM.get(currency, YEARLY_FROM_ELSEWHERE)
    return _advert(
        "adzuna",
        id=told["id"],
        title=told["title"],
        company=_named(told.get("company")),
        place=place,
        country=code,
        areas=tuple(area[1:] or ([] if area else place.split(", ")[:4])),
        text=told.get("description"),
        url=told.get("redirect_url"),
        posted_at=_moment(told.get("created")),
        pay=_pay(lowest, highest, currency, "year" if is_yearly else None),
        attribution="Jobs by Adzuna",
        now=now,
    )


def from_jsearch(told: Mapping[str, Any], now: float) -> Advert:
    """`job_country` has two letters; `job_salary_period` and similar fields are often null."""
    city, region, country = (plain_text(told.get(f"job_{each}"), 120) for each in ("city", "state", "country"))
    place = ", ".join(filter(None, (city, region, country))) or plain_text(told.get("job_location"), 120)
    period = str(told.get("job_salary_period") or "").lower().removesuffix("ly")
    lowest, highest = _number(told.get("job_min_salary")), _number(told.get("job_max_salary"))
    return _advert(
        "jsearch",
        id=told["job_id"],
        title=told["job_title"],
        company=str(told.get("employer_name") or ""),
        place=place,
        country=country_of(country),
        areas=tuple(filter(None, (city, region))),
        text=told.get("job_description"),
        url=told.get("job_apply_link"),
        posted_at=_number(told.get("job_posted_at_timestamp")),
        ends_at=_number(told.get("job_offer_expiration_timestamp"))
        or _moment(told.get("job_offer_expiration_datetime_utc")),
        pay=_pay(lowest, highest, str(told.get("job_salary_currency") or "")[:3].upper(), period),
        is_remote=told.get("job_is_remote"),
        attribution=f"Via {plain_text(told['job_publisher'], 60)}" if told.get("job_publisher") else "",
        now=now,
    )


def _advert(
    board: Board, *, id: Any, title: Any, text: Any, url: Any, now: float, is_remote: Any = None, **more: Any
) -> Advert:
    title, text = plain_text(title, 200), plain_text(text, LONGEST_TEXT)
    if not str(id).strip() or not title:
        raise ValueError
    more["company"] = plain_text(more.get("company"), 120)
    way = way_of(f"{title} {more.get('place', '')}", text, is_remote)
    return Advert(
        id=f"{board}:{str(id)[:120]}",
        title=title,
        text=text,
        url=link_in(url),
        way=way,
        remote_within=tuple(dict.fromkeys(_remote_regions(f"{title}\n{text}"))) if way == "remote" else (),
        visa=visa_of(text),
        language=language_of(f"{title}\n{text}"),
        board=board,
        seen_at=now,
        **more,
    )


# --- way of working ---------------------------------------------------------------------------------------------------
# Statements about ways of working and work permits, in five languages. Each is a closed form; anything else is unclear.


_CAPITAL = r"[A-ZÀ-Þ](?:\w|\.(?=\w))*"
_NAME = rf"(?P<name>(?-i:{_CAPITAL}(?:[ -](?:of )?{_CAPITAL}){{0,3}}))"
_TO = (
    r"(?:(?:anywhere|everywhere|überall|ganz|partout|todo?|toda|cualquier lugar|qualquer lugar|n'importe où|only|"
    r"the|los|las|les|la|el|os|as|in|within|from|across|aus|von|innerhalb von|en|desde|dentro de|de|em|no|na|nos|"
    r"a partir de|depuis|au|aux|dans|do|da|dos|del|des) )+"
)
_FORMS: Mapping[str, str] = {
    "remote": r"\b(?:remot[eoa]|home ?office|teletrabajo|teletrabalho|télétravail|work from home)\b",
    "fully": r"\b(?:(?:fully|entirely|completely|full|100 ?%|vollständig|komplett|ausschließlich|totalmente|"
    r"completamente|entièrement|totalement)[ -](?:remot[eoa]|im home ?office|à distance|en télétravail)|"
    r"télétravail (?:complet|total)|(?:trabajo|trabalho) (?:100 ?%|totalmente) remoto)\b",
    "hybrid": r"\bhybrid(?:e[rs]?)?[ -](?:work\w*|role|position|model\w*|schedule|office|remote|arbeit\w*|job)\b|"
    r"\bhybrid:|\b(?:modèle|travail|mode|poste|modelo|trabajo|trabalho|regime|formato) h[yíi]brid[aeo]\b|"
    r"\bwork(?:ing)? hybrid\b",
    "hybrid_title": r"\bh[yíi]brid[aeo]?\b",
    "anywhere": r"\b(?:anywhere in the world|worldwide|weltweit|del mundo|dans le monde|do mundo|work from anywhere)\b",
    "region_1": rf"\b(?:remote(?:ly)?|remot[oa]|home ?office|teletrabajo|teletrabalho|télétravail|à distance|work)\b"
    rf"(?:[ ,:]+[\w%é-]+){{0,4}}? {_TO}{_NAME}",
    "region_2": rf"\bremote\w*\s?[-–(,:/]+\s?(?:{_TO})?{_NAME}",
    "region_3": rf"\b(?:must|need to|have to|has to|candidates|applicants|only)\b(?: [\w']+){{0,5}}? "
    rf"(?:reside|residing|resident|based|located|live|living|work) {_TO}{_NAME}",
    "region_4": rf"\b(?:wohnsitz|wohnhaft|residir|residentes?|residencia|residência|résider|résidence) {_TO}{_NAME}",
    "region_5": rf"\b{_NAME}(?:[ -]based)?(?: residents| candidates| applicants)?[ -](?:only|remote)\b",
    "sponsors": r"\bsponsor\w*|\b(?:visum|visas?|visto|visado)\b",
    "of_work": r"\b(?:visas?|visum|visto|visado|immigration|relocation|work permit|employment|h-?1b|position|role|"
    r"candidates?|applicants?|this job)\b|\bno sponsorship\b",
    "helps": r"\bsponsor\w*|\b(?:help|support|assist|offer|provide|available|unterstütz\w*|hilf\w*|helfen|übernehm\w*|"
    r"bieten|ayud\w+|ofrecemos|aid\w+|accompagn\w+|ajud\w+|apoi\w+|oferecemos)\b",
    "permit": r"\b(?:right to work|work (?:permit|authori[sz]ation)|employment authori[sz]ation|"
    r"(?:authori[sz]ed|eligible) to work|arbeitserlaubnis|arbeitsgenehmigung|"
    r"permiso (?:de trabajo|para trabajar)|(?:permis|autorisation) de travail|"
    r"(?:autoriza[çc][ãa]o|visto) de trabalho)\b",
    "needed": r"\b(?:must|requir\w*|need\w*|necessary|mandatory|valid|gültige?n?|erforderlich|nötig|notwendig|"
    r"vorausgesetzt|voraussetzung|requise?|nécessaire|valable|obligat\w+|imprescindible|necess?[aá]ri[oa]|requiere|"
    r"obrigatóri[oa]|exigid[oa]|válid[oa])\b",
    "not": r"\b(?:no|not|without|unable|cannot|keine?n?r?|nicht|ohne|sin|ne|pas|sans|não|nao|sem)\b|n['’]t\b",
    "not_considered": r"\bnot be considered\b|\bnicht berücksichtigt\b",
}
_REGIONS = tuple(each for each in _FORMS if each.startswith("region"))


@cache
def _form(name: str) -> re.Pattern[str]:
    return re.compile(_FORMS[name], re.IGNORECASE)


def way_of(title: str, text: str, is_remote: Any) -> Way | None:
    """Return the way of working on which title, text and the board's own flag agree; None if it is unclear."""
    is_hybrid = bool(_form("hybrid_title").search(title) or _form("hybrid").search(text))
    is_said = bool(_form("fully").search(f"{title}\n{text}"))
    if is_hybrid:
        return None if is_said else "hybrid"
    if is_remote is True or _form("remote").search(title):
        return "remote"
    if is_remote is False:
        return None if is_said else "on_site"
    return "remote" if is_said else None


_CODES = frozenset(("US", "UK", "EU"))
"""Codes that adverts use as country names; "IT" is excluded because it is a trade."""


def _remote_regions(text: str) -> Iterator[str]:
    """Return the countries where remote workers must be, as the text names them; "anywhere" for all."""
    if _form("anywhere").search(text):
        yield "anywhere"
    for name in _REGIONS:
        for found in _form(name).finditer(text):
            words = re.split(r"(?<=\w)[ ]", found["name"])
            named = (" ".join(words[:count]) for count in range(len(words), 0, -1))
            yield from (each for each in named if (len(each) > 2 or each in _CODES) and countries_of(each))


_SENTENCES = pattern(r"(?<=[.!?;])\s+|[\n•]+")


def visa_of(text: str) -> Visa | None:
    """Return whether the employer helps with a work permit, if all statements in the text agree; otherwise None."""
    told = set[Visa | None](map(_visa_of_sentence, _SENTENCES.split(text))) - {None}
    return told.pop() if len(told) == 1 else None


def _visa_of_sentence(said: str) -> Visa | None:
    is_denied, is_needed = _form("not").search(said), _form("needed").search(said)
    if _form("sponsors").search(said) and _form("of_work").search(said) and _form("helps").search(said):
        if not is_denied:
            return None if is_needed else "sponsored"
        return "not_sponsored" if not is_needed or "must" in said.lower() or "without" in said.lower() else None
    if not _form("permit").search(said):
        return None
    if _form("not_considered").search(said):
        return "not_sponsored"
    return "not_sponsored" if is_needed and not is_denied and not _form("helps").search(said) else None


# --- text, link, pay --------------------------------------------------------------------------------------------------


_BREAKS = pattern(r"<(?:br|/p|/li|/div|/h\d|/tr)\b[^>]*>", re.IGNORECASE)
_TAGS = pattern(
    r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|</?(?:a|abbr|b|big|blockquote|body|br|center|code|dd|div|dl|dt|em|figure|"
    r"font|h\d|head|header|hr|html|i|iframe|img|input|ins|label|li|link|main|mark|meta|nav|o:p|ol|p|pre|s|script|"
    r"section|small|span|strike|strong|style|sub|sup|svg|table|tbody|td|tfoot|th|thead|title|tr|u|ul|video)"
    r"(?:\s[^<>]{0,1000})?/?>",
    re.IGNORECASE | re.DOTALL,
)
"""Tags are listed by name, because "<5 years" and "List<String>" are text."""
_SPACES = pattern(r"[ \t\u00a0]+")
_LINES = pattern(r"\s*\n\s*\n\s*")
MOST_ESCAPES = 3


def plain_text(text: Any, longest: int) -> str:
    """Remove markup (also if it is escaped), invisible characters and repeated spaces."""
    if not isinstance(text, str):
        return ""
    bare = text[: longest * 4]
    for _ in range(MOST_ESCAPES):
        before, bare = bare, html.unescape(_TAGS.sub("", _BREAKS.sub("\n", bare)))
        if bare == before:
            break
    return _LINES.sub("\n\n", _SPACES.sub(" ", visible(bare))).strip()[:longest]


def link_in(url: Any) -> str:
    """Return the URL if it is a web address that does not hide its host behind a user name; otherwise an empty
    string."""
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


MOST_A_YEAR, MOST_A_YEAR_ELSEWHERE = 3_000_000.0, 5_000_000_000.0
"""Higher amounts are errors by the board: in strong currencies, and in all others."""


def _pay(lowest: float | None, highest: float | None, currency: str, period: str | None) -> Pay | None:
    known: Period | None = next((each for each in get_args(Period) if each == period), None)
    pay = Pay(lowest=lowest, highest=highest, currency=currency, per=known)
    most = pay.most_a_year() or highest or lowest
    limit = MOST_A_YEAR if currency in _STRONG or not currency else MOST_A_YEAR_ELSEWHERE
    return pay if most and most <= limit else None
