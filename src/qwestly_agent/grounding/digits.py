"""Parse figures written in digits: numbers, times of day, telephone numbers and dates, each with its unit."""

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from qwestly_agent.base.patterns import pattern
from qwestly_agent.grounding.dates import days_of
from qwestly_agent.grounding.figure_words import PARTS
from qwestly_agent.grounding.model import Figure
from qwestly_agent.grounding.units import CURRENCIES_BEFORE, DOLLARS_OR_PESOS, ONLY_IN, SCALES, UNITS, Unit, key

HOURS_OF_A_DAY = 24
MOST_DIGITS = 30
"""Longer numbers are not parsed."""
LONGEST_OF_A_NAME = 2
"""Up to this many letters directly after a number belong to a name ("3D"); more are a unit that is missing in the
tables."""

PHONE = pattern(r"(?<![\w.,])(?<!\d\s)(?:\+\d|\(?0\d)[\d\s()/.-]{5,}\d(?!\w)")
CLOCK = pattern(
    r"(?<![\w.,:])(?P<hours>\d{1,2})"
    r"(?:(?:\s?h\s?|:|\.(?=\d\d\s?(?:uhr|h)(?!\w)))(?P<minutes>[0-5]\d)(?::(?P<seconds>[0-5]\d)|[.,](?P<parts>\d\d?)(?!\d))?(?![\w:])"
    r"|(?=\s?uhr(?!\w)))",
    re.IGNORECASE,
)
_HOURS, _MINUTES, _SECONDS = (
    "|".join(map(re.escape, (w for w, u in UNITS.items() if u == UNITS[unit]))) for unit in ("h", "min", "s")
)
_AND = r"(?:,|\s(?:and|et|y|e|und|en)(?=\s))?\s?"
DURATION = pattern(
    rf"(?<![\w.,:])(?P<hours>\d{{1,3}}|an?|one|une?|una|uma|een|eine[rnm]?)\s?(?:{_HOURS}){_AND}"
    rf"(?P<minutes>[1-5]?\d)\s?(?:{_MINUTES})(?!\w)(?:{_AND}(?P<seconds>[1-5]?\d(?:[.,]\d+)?)\s?(?:{_SECONDS})(?!\w))?"
    rf"|(?<![\w.,:])(?P<only_minutes>\d{{1,3}})\s?(?:{_MINUTES}){_AND}(?P<behind>[1-5]?\d(?:[.,]\d+)?)\s?(?:{_SECONDS})(?P<parts>\d\d?)?(?!\w)",
    re.IGNORECASE,
)
HOUR = pattern(
    r"(?<![\w.,:])(?P<hours>0?[1-9]|1[0-2])(?:[:.](?P<minutes>[0-5]\d))?\s?(?P<half>[ap])\.?m(?:\.|\b)", re.IGNORECASE
)
PART = pattern(
    rf"(?<!\w)(?:an?|one|une?|un[oa]|uma?|ein\w{{0,2}}|een)\s(?P<part>{'|'.join(PARTS)})"
    r"(?=(?:\s(?:of\s|de\s|d['’]|di\s|van\s)?(?:(?:an?|une?|uma?|een)\s)?|)(?P<unit>[^\W\d_]+))",
    re.IGNORECASE,
)
_BEFORE = "|".join(sorted(map(re.escape, CURRENCIES_BEFORE), key=len, reverse=True))
_SCALE = "|".join(sorted((*map(re.escape, SCALES), "billions?", "b", "m"), key=len, reverse=True))
SCALE_BEHIND = pattern(rf"\s(?:an?\s|of an?\s)?(?:{_SCALE})(?!\w)", re.IGNORECASE)
NUMBER = pattern(
    rf"""(?ix)
    (?:(?<!\w)(?P<before>{_BEFORE})\s?)?
    (?<![\d.,])(?<!\d['’\u00a0\u202f]) (?P<number>
        \d{{1,3}}(?:[.,'’\ \u00a0\u202f\u2009]\d{{3}}(?!\d))+(?:[.,]\d+)?
      | \d{{1,2}}(?:,\d\d)+,\d{{3}}(?:\.\d+)?(?![\d,])
      | \d+(?:[.,]\d+)*
    )
    (?:\s?(?P<fraction>[½¼¾⅓⅔⅛]))?
    (?: [\ \u00a0\u202f-]?(?P<scale>{_SCALE})(?!\w)
      | (?P<ordinal>st|nd|rd|th|er|ère|ème|e|º|ª|[rtv]?[oa]s?|da|s|s?te[nrs]?)(?!\w) )?
    (?:\.?-?(?P<glued>(?!{_SCALE})[^\W\d_]+))?
    | (?<!\w)(?P<alone>[½¼¾⅓⅔⅛])
    """
)
_LETTER_OF_SCALE = pattern(r"\s?(?:[KkM][A-Z]{2,4}|m(?:dp|dd|de))(?!\w)")
_FRACTIONS = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3", "⅛": "1/8"}


def date_of(match: re.Match[str], language: str) -> Figure | None:
    days = tuple(days_of(match, language))
    is_span = bool(match["from"] or match["month_before"])
    return Figure(match.start(), match.end(), match[0], days=days, is_span=is_span) if days else None


def phone_of(match: re.Match[str], _: str) -> Figure:
    digits = re.sub(r"\D", "", match[0])
    if len(digits) > MOST_DIGITS:
        return Figure(*match.span(), match[0], unread=True)
    return Figure(*match.span(), match[0], frozenset({Fraction(digits)}))


def clock_of(match: re.Match[str], _: str) -> Figure | None:
    first, second, third = (int(match[name] or 0) for name in ("hours", "minutes", "seconds"))
    if match["parts"]:  # 1:02,84 is a minute and 2.84 seconds
        hours = (first + (second + Fraction(f"0.{match['parts']}")) / 60) / 60
    elif match["seconds"] or first <= HOURS_OF_A_DAY:
        hours = first + Fraction(second, 60) + Fraction(third, 3600)
    else:  # 34:18 is no time of day
        hours = Fraction(first, 60) + Fraction(second, 3600)
    return Figure(match.start(), match.end(), match[0], frozenset({hours}), UNITS["h"])


def duration_of(match: re.Match[str], _: str) -> Figure:
    """Parse "1 hour and 15 minutes", "une heure 15 minutes", "2h 34min 18s" and "2min14s8"."""
    hours = int(match["hours"]) if (match["hours"] or "").isdecimal() else 0 if match["only_minutes"] else 1
    minutes = int(match["minutes"] or match["only_minutes"])
    seconds = Fraction((match["seconds"] or match["behind"] or "0").replace(",", "."))
    if match["parts"]:
        seconds += Fraction(f"0.{match['parts']}")
    value = hours + Fraction(minutes, 60) + seconds / 3600
    return Figure(*match.span(), match[0], frozenset({value}), UNITS["h"])


def hour_of(match: re.Match[str], _: str) -> Figure:
    """Convert "6 pm" to hours since midnight, like "18:00"."""
    hours = int(match["hours"]) % 12 + (12 if key(match["half"]) == "p" else 0)
    return Figure(*match.span(), match[0], frozenset({hours + Fraction(int(match["minutes"] or 0), 60)}), UNITS["h"])


def part_of(match: re.Match[str], _: str) -> Figure | None:
    """Parse "a tenth of a second"."""
    unit = UNITS.get(key(match["unit"]))
    text = match.string[match.start() : match.end("unit")]
    value = Fraction(1, PARTS[key(match["part"])])
    return Figure(match.start(), match.end("unit"), text, frozenset({value}), unit) if unit else None


def number_of(match: re.Match[str], language: str) -> Figure | None:
    if match["alone"]:
        values = {Fraction(_FRACTIONS[match["alone"]])}
        return _with_unit(match, language, match.start("alone"), match.end(), values, None)
    before, scale, start = match["before"], match["scale"], match.start("number")
    if (scale == "m" and not before) or (scale and key(scale) == "mi" and language != "pt"):  # metres, miles
        scale = None
    end = match.end("scale") if scale else match.end("ordinal") if match["ordinal"] else match.end("number")
    if len(match["number"]) > MOST_DIGITS:
        return Figure(start, end, match.string[start:end], unread=True)
    values = set(_values(match["number"]))
    if match["fraction"]:
        end = max(end, match.end("fraction"))
        values = {value + Fraction(_FRACTIONS[match["fraction"]]) for value in values}
    factor = _factor(scale, bool(before), language) if scale else 1
    if scale and factor is None and key(scale) not in UNITS:
        return Figure(start, end, match.string[start:end], unread=True)
    if not scale and _LETTER_OF_SCALE.match(match.string, match.end("number")):  # "1,8 MDH", "1.2 mdp", but "500 MXN"
        values |= {value * by for value in values for by in (1_000, 1_000_000)}
    glued = match["glued"]
    is_joined = glued is not None and match.start("glued") == match.end("number")
    if not before and glued and is_joined and len(glued) <= LONGEST_OF_A_NAME and key(glued) not in UNITS:
        return None  # part of a name: "3D", "5S", but not "40FTE"
    unit = _currency(before, language) if before else None
    figure = _with_unit(match, language, start, end, {value * (factor or 1) for value in values}, unit, match.start())
    return replace(figure, scale=factor or 1)


def _currency(sign: str, language: str) -> Unit:
    """Return the currency of a sign. In Spanish "$" means dollars in some countries and pesos in others."""
    return Unit(DOLLARS_OR_PESOS if sign == "$" and language == "es" else CURRENCIES_BEFORE[key(sign)])


def _with_unit(
    match: re.Match[str],
    language: str,
    start: int,
    end: int,
    values: set[Fraction],
    unit: Unit | None,
    shown: int | None = None,
) -> Figure:
    behind, unit_end = (None, end) if unit else unit_after(match.string, end, language)
    return Figure(
        start, end, match.string[start if shown is None else shown : unit_end], frozenset(values), unit or behind
    )


def _factor(scale: str, is_money: bool, language: str) -> int | None:
    """Return the factor of a scale word or letter; None if it is ambiguous."""
    if scale == "M" or (scale == "m" and is_money):
        return 1_000_000
    word = key(scale)
    if word in ("billion", "billions", "b"):
        return 10**9 if language == "en" or (is_money and word == "b") else None
    if word in ("mil", "mille") and language not in ("es", "pt", "it", "fr", ""):
        return None
    return SCALES.get(word)


def _values(digits: str) -> Iterator[Fraction]:
    """Yield the possible values: "1.200" is 1200 in some countries and 1.2 in others; "1,200.50" has only one value."""
    plain = re.sub(r"['’ \u00a0\u202f\u2009]", "", digits)
    if re.fullmatch(r"\d{1,2}(?:,\d\d)+,\d{3}(?:\.\d+)?", plain):  # lakhs and crores
        plain = plain.replace(",", "")
        yield Fraction(plain)
        return
    signs = re.findall(r"[.,]", plain)
    whole = re.sub(r"[.,]", "", plain)
    if not signs:
        yield Fraction(whole)
        return
    last, groups = signs[-1], re.split(r"[.,]", plain)
    grouped = all(len(group) == 3 for group in groups[1:]) and 0 < len(groups[0]) <= 3 and groups[0] != "0"
    if len(set(signs)) == 1 and grouped:
        yield Fraction(whole)
    if len(signs) == 1 or (len(set(signs)) == 2 and signs.count(last) == 1):
        yield Fraction(f"{plain.rpartition(last)[0].replace(',', '').replace('.', '')}.{groups[-1]}")
    elif not grouped:  # a version or an address, equal only to the same digits
        yield Fraction(int(whole), 10**9 + len(signs))


_COMPOUND = pattern(
    r"[ \u00a0\u202f-]?(?!montage|reportage)[^\W\d_]{3,}"
    r"(?P<unit>sekunden|minuten|stunden|tagen?|wochen|monaten?|jahren?)(?!\w)",
    re.IGNORECASE,
)
"""German compounds: "Unterrichtsstunden" are hours."""
_UNIT = pattern(
    r"(?:[ \u00a0\u202f\u2009-]{0,2}|\s\(|\s(?:(?:de|di)\s|d['’]))(?P<unit>"
    + "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
    + r")(?!['’]?[^\W\d_])",
    re.IGNORECASE,
)


def unit_after(text: str, end: int, language: str) -> tuple[Unit | None, int]:
    match = _UNIT.match(text, end)
    if match and language not in ONLY_IN.get(key(match["unit"]), language).split(" "):
        match = None
    if match is None and language == "de":
        match = _COMPOUND.match(text, end)
    return (UNITS[key(match["unit"])], match.end()) if match else (None, end)
