"""Reads the figures of a text: numbers, years and dates, with a unit of the closed table where one stands by them.

Digits are read in every language, with either sign for thousands and decimals; number words by `text2num`, in the
languages that it reads. A figure that cannot be read whole ("half a million", "zweieinhalb", "twenty twenty-one") is
marked `unread` and never read in part.
"""

import re
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from qwestly_agent.grounding.dates import DATES, Day, days_of
from qwestly_agent.grounding.number_words import COMPOUND, GLUE, value_inside, value_of, word_figures
from qwestly_agent.grounding.units import (
    ABOUT,
    ABOUT_BEHIND,
    CURRENCIES_BEFORE,
    MINUTES,
    MONTHS,
    MULTIPLES,
    NUMBER_LANGUAGES,
    OFTEN,
    ONLY_IN,
    PARTS,
    SCALES,
    UNITS,
    Unit,
    key,
)

MOST_DIGITS = 30
"""Of a number: longer ones are not read."""


@dataclass(frozen=True)
class Figure:
    start: int
    end: int
    """Of the number itself; its unit may stand before or behind."""
    text: str
    """With its unit, as written."""
    values: frozenset[Fraction] = frozenset()
    """More than one where the same digits mean different numbers ("1.200"). Empty for a date, and where unread."""
    unit: Unit | None = None
    days: tuple[Day, ...] = ()
    unread: bool = False
    rate: Unit | None = None
    """The time that it is counted by: "a week" of "40 hours a week"."""
    beside: frozenset[Unit] = frozenset()
    """Units of the other figures of its sentence, where it has none: "90 kilos a week, now 27"."""
    leeway: Fraction = Fraction(0)
    """The share by which its words let it differ: "nearly 300"."""
    scale: int = 1
    """A thousand, where a word or letter behind its digits says so."""
    is_fall: bool = False
    """Whether its sentence says that so many per cent went."""

    @property
    def year(self) -> int | None:
        """The year, where it is a bare number that can be one."""
        [value] = self.values if len(self.values) == 1 else [Fraction(0)]
        return int(value) if self.unit is None and value.denominator == 1 and 1900 <= value <= 2100 else None

    @property
    def amounts(self) -> frozenset[Fraction]:
        """In the smallest unit of its dimension."""
        return frozenset(value * self.unit.factor for value in self.values) if self.unit else self.values


def figures(text: str, language: str = "") -> list[Figure]:
    """In the order in which they stand there."""
    return list(_read(text, language if language in NUMBER_LANGUAGES else ""))


@lru_cache(maxsize=512)
def _read(text: str, language: str) -> tuple[Figure, ...]:
    reader = _Reader(text, language)
    reader.read(DATES, _date)
    reader.read(_PHONE, _phone)
    if language == "en":
        reader.read(_HOUR, _hour)
    reader.read(_CLOCK, _clock)
    reader.read(_PART, _part)
    reader.read(_NUMBER, _number)
    reader.read_words()
    return tuple(_with_rates(list(_with_units_of_neighbours(reader.in_order(), text)), text))


# --- how it is read ---------------------------------------------------------------------------------------------------


@dataclass
class _Reader:
    text: str
    language: str
    found: list[Figure] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.taken = bytearray(len(self.text))

    def read(self, pattern: re.Pattern[str], make: Callable[["_Reader", re.Match[str]], Figure | None]) -> None:
        for match in pattern.finditer(self.text):
            figure = None if any(self.taken[match.start() : match.end()]) else make(self, match)
            if figure:
                self.take(figure, *match.span())

    def take(self, figure: Figure, start: int, end: int) -> None:
        self.taken[start:end] = b"\1" * (end - start)
        self.found.append(figure)

    def read_words(self) -> None:
        for start, end, unread in word_figures(self.text, self.language, self.taken):
            if any(self.taken[start:end]):  # "cent" of "vingt-cinq pour cent"
                continue
            if unread:
                self._take_unread(start, end)
            elif (value := value_of(self.text[start:end], self.language)) != 1:  # an article, as often as not
                self._take_value(start, end, value or 0)
        for match in _MULTIPLE.finditer(self.text):
            if not any(self.taken[match.start() : match.end()]):
                self.take(Figure(*match.span(), match[0], unit=UNITS["times"], unread=True), *match.span())

    def _take_value(self, start: int, end: int, value: int) -> None:
        unit, unit_end = _unit_behind(self.text, end, self.language)
        self.take(Figure(start, end, self.text[start:unit_end], frozenset({Fraction(value)}), unit), start, unit_end)

    def _take_unread(self, start: int, end: int) -> None:
        """ "2½" in words, "3 dozen", "half an hour": with the number and the unit that stand by it, or not at all."""
        touching = next((each for each in self.found if not each.days and self._touches(each, start)), None)
        unit, unit_end = _unit_behind(self.text, end, self.language)
        if unit is None and (article := _ARTICLE.match(self.text, end)):
            unit, unit_end = _unit_behind(self.text, article.end() - 1, self.language)
            unit_end = unit_end if unit else end
        if not (touching or unit) and (before := _UNIT_BEFORE.search(self.text, max(0, start - 30), start)):
            start, unit = before.start("unit"), UNITS[key(before["unit"])]  # "un an et demi"
        if touching:
            self.found.remove(touching)
            start, unit = touching.start, unit or touching.unit
        is_figure = COMPOUND.search(self.text, start, end) or value_inside(self.text[start:end], self.language)
        is_figure = is_figure or _SCALE_BEHIND.match(self.text, end)  # "eine halbe Mio."
        if touching or unit or is_figure:
            self.take(Figure(start, end, self.text[start:unit_end], unit=unit, unread=True), start, unit_end)

    def _touches(self, figure: Figure, start: int) -> bool:
        """Tell whether it stands right before, with its unit or without: "2 and a half", "dos años y medio"."""
        ends = (figure.end, figure.start + len(figure.text))
        return any(end < start and GLUE.fullmatch(self.text, end, start) for end in ends)

    def in_order(self) -> list[Figure]:
        return sorted(self.found, key=lambda figure: figure.start)


# --- digits -----------------------------------------------------------------------------------------------------------

_MULTIPLE = re.compile(rf"(?<!\w)(?:{MULTIPLES})(?!\w)", re.IGNORECASE)
_ARTICLE = re.compile(r"\s+(?:(?:of|de|d['’])\s*)?(?:(?:an?|une?|uma?|ein\w{0,2})\s+)?", re.IGNORECASE)
_PHONE = re.compile(r"(?<![\w.,])(?<!\d\s)(?:\+\d|\(?0\d)[\d\s()/.-]{5,}\d(?!\w)")
_CLOCK = re.compile(
    r"(?<![\w.,:])(?P<hours>\d{1,2})"
    r"(?:(?:\s?h\s?|:|\.(?=\d\d\s?(?:uhr|h)(?!\w)))(?P<minutes>[0-5]\d)(?![\w:])|(?=\s?uhr(?!\w)))",
    re.IGNORECASE,
)
_HOUR = re.compile(
    r"(?<![\w.,:])(?P<hours>0?[1-9]|1[0-2])(?:[:.](?P<minutes>[0-5]\d))?\s?(?P<half>[ap])\.?m(?:\.|\b)", re.IGNORECASE
)
_PART = re.compile(
    rf"(?<!\w)(?:an?|one|une?|un[oa]|uma?|ein\w{{0,2}}|een)\s(?P<part>{'|'.join(PARTS)})"
    r"(?=(?:\s(?:of\s|de\s|d['’]|di\s|van\s)?(?:(?:an?|une?|uma?|een)\s)?|)(?P<unit>[^\W\d_]+))",
    re.IGNORECASE,
)
_BEFORE = "|".join(sorted(map(re.escape, CURRENCIES_BEFORE), key=len, reverse=True))
_SCALE = "|".join(sorted((*map(re.escape, SCALES), "billions?", "b", "m"), key=len, reverse=True))
_SCALE_BEHIND = re.compile(rf"\s(?:an?\s|of an?\s)?(?:{_SCALE})(?!\w)", re.IGNORECASE)
_NUMBER = re.compile(
    rf"""(?ix)
    (?:(?<!\w)(?P<before>{_BEFORE})\s?)?
    (?<![\d.,])(?<!\d['’\u00a0\u202f]) (?P<number>
        \d{{1,3}}(?:[.,'’\ \u00a0\u202f\u2009]\d{{3}}(?!\d))+(?:[.,]\d+)?
      | \d+(?:[.,]\d+)*
    )
    (?:\s?(?P<fraction>[½¼¾⅓⅔⅛]))?
    (?: [\ \u00a0\u202f-]?(?P<scale>{_SCALE})(?!\w)
      | (?P<ordinal>st|nd|rd|th|er|ère|ème|e|º|ª|o|a|s|s?te[nrs]?)(?!\w) )?
    (?:\.?-?(?P<glued>(?!{_SCALE})[^\W\d_]+))?
    | (?<!\w)(?P<alone>[½¼¾⅓⅔⅛])
    """
)
_FRACTIONS = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3", "⅛": "1/8"}


def _date(_: _Reader, match: re.Match[str]) -> Figure | None:
    days = tuple(days_of(match))
    return Figure(match.start(), match.end(), match[0], days=days) if days else None


def _phone(_: _Reader, match: re.Match[str]) -> Figure:
    digits = re.sub(r"\D", "", match[0])
    if len(digits) > MOST_DIGITS:
        return Figure(*match.span(), match[0], unread=True)
    return Figure(*match.span(), match[0], frozenset({Fraction(digits)}))


def _clock(_: _Reader, match: re.Match[str]) -> Figure:
    minutes = int(match["hours"]) * 60 + int(match["minutes"] or 0)
    return Figure(match.start(), match.end(), match[0], frozenset({Fraction(minutes, 60)}), UNITS["h"])


def _hour(_: _Reader, match: re.Match[str]) -> Figure:
    """ "6 pm", counted from midnight, as "18:00" is."""
    hours = int(match["hours"]) % 12 + (12 if key(match["half"]) == "p" else 0)
    return Figure(*match.span(), match[0], frozenset({hours + Fraction(int(match["minutes"] or 0), 60)}), UNITS["h"])


def _part(reader: _Reader, match: re.Match[str]) -> Figure | None:
    """ "A tenth of a second"."""
    unit = UNITS.get(key(match["unit"]))
    text = reader.text[match.start() : match.end("unit")]
    value = Fraction(1, PARTS[key(match["part"])])
    return Figure(match.start(), match.end("unit"), text, frozenset({value}), unit) if unit else None


def _number(reader: _Reader, match: re.Match[str]) -> Figure | None:
    if match["alone"]:
        return _with_unit(reader, match.start("alone"), match.end(), {Fraction(_FRACTIONS[match["alone"]])}, None)
    before, scale, start = match["before"], match["scale"], match.start("number")
    if scale == "m" and not before:  # metres
        scale = None
    end = match.end("scale") if scale else match.end("ordinal") if match["ordinal"] else match.end("number")
    if len(match["number"]) > MOST_DIGITS:
        return Figure(start, end, reader.text[start:end], unread=True)
    values = set(_values(match["number"]))
    if match["fraction"]:
        end = max(end, match.end("fraction"))
        values = {value + Fraction(_FRACTIONS[match["fraction"]]) for value in values}
    factor = _factor(scale, bool(before), reader.language) if scale else 1
    if scale and factor is None and key(scale) not in UNITS:
        return Figure(start, end, reader.text[start:end], unread=True)
    glued = match["glued"]
    if not before and glued and key(glued) not in UNITS and match.start("glued") == match.end("number"):
        return None  # part of a name: "3D", "5S"
    unit = Unit(CURRENCIES_BEFORE[key(before)]) if before else None
    figure = _with_unit(reader, start, end, {value * (factor or 1) for value in values}, unit, match.start())
    return replace(figure, scale=factor or 1)


def _with_unit(
    reader: _Reader, start: int, end: int, values: set[Fraction], unit: Unit | None, shown: int | None = None
) -> Figure:
    behind, unit_end = (None, end) if unit else _unit_behind(reader.text, end, reader.language)
    return Figure(
        start, end, reader.text[start if shown is None else shown : unit_end], frozenset(values), unit or behind
    )


def _factor(scale: str, is_money: bool, language: str) -> int | None:
    """None where the letter or word may mean something else."""
    if scale == "M" or (scale == "m" and is_money):
        return 1_000_000
    word = key(scale)
    if word in ("billion", "billions", "b"):
        return 10**9 if language == "en" or (is_money and word == "b") else None
    if word in ("mil", "mille") and language not in ("es", "pt", "it", "fr", ""):
        return None
    return SCALES.get(word)


def _values(digits: str) -> Iterator[Fraction]:
    """The values that the digits may have: "1.200" is 1200 here and 1.2 there, "1,200.50" is one thing only."""
    plain = re.sub(r"['’ \u00a0\u202f\u2009]", "", digits)
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
    elif not grouped:  # a version, an address: the same digits, or not the same
        yield Fraction(int(whole), 10**9 + len(signs))


_UNIT = re.compile(
    r"(?:[ \u00a0\u202f\u2009-]{0,2}|\s\(|\s(?:de|d['’]|di)\s?)(?P<unit>"
    + "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
    + r")(?!['’]?[^\W\d_])",
    re.IGNORECASE,
)


_UNIT_BEFORE = re.compile(
    r"(?<!\w)(?P<unit>"
    + "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
    + r")\s(?:and a|et|y|e|und|ed?)\s$",
    re.IGNORECASE,
)


def _unit_behind(text: str, end: int, language: str) -> tuple[Unit | None, int]:
    match = _UNIT.match(text, end)
    if match and language not in ONLY_IN.get(key(match["unit"]), language).split(" "):
        match = None
    return (UNITS[key(match["unit"])], match.end()) if match else (None, end)


# --- neighbours -------------------------------------------------------------------------------------------------------

_BETWEEN = re.compile(r"\s*(?:-|–|—|/|→|[-=]?>|to|bis|auf|von|a|à|au|até|para|al?|tot|and|und|y|e|et|or|oder|ou|o)\s*")


def _with_units_of_neighbours(found: Sequence[Figure], text: str) -> Iterator[Figure]:
    """ "80k → 52k €", "10 to 12 years": both have the unit that one of them is given; "2 to 3k" may be thousands."""
    found = list(found)
    units: list[Unit | None] = [figure.unit for figure in found]
    for step in (1, -1):
        for i in range(len(found))[::step]:
            other = i + step
            if 0 <= other < len(found) and units[other] is None and not found[other].days and not found[i].days:
                first, second = sorted((i, other))
                unit_end = found[first].start + len(found[first].text) if found[first].text else found[first].end
                if _BETWEEN.fullmatch(
                    text, max(found[first].end, min(unit_end, found[second].start)), found[second].start
                ):
                    units[other] = units[i]
                    scale = found[second].scale
                    if step < 0 and scale > found[first].scale == 1:
                        both = found[first].values | {value * scale for value in found[first].values}
                        found[first] = replace(found[first], values=both)
    for figure, unit in zip(found, units, strict=True):
        yield figure if unit is figure.unit else replace(figure, unit=unit)


_SENTENCE_END = re.compile(r"[.!?;]\s|\n")
_TIMES = sorted((word for word, unit in UNITS.items() if unit.dimension in (MINUTES, MONTHS)), key=len, reverse=True)
_RATE = re.compile(
    r"\s*\w*\s?(?:/|\b(?:per|an?|the|each|every|pro|je|am|im|in der|die|jede[mnrs]?|par|chaque|por|cada"
    r"|ao|al?|à|all['’])\s)"
    r"\s?(?:(?:la|el|le|il)\s)?"
    rf"(?P<unit>{'|'.join(map(re.escape, _TIMES))})(?![^\W\d_])",
    re.IGNORECASE,
)


_OFTEN = "|".join(OFTEN)
_OFTEN_BEHIND = re.compile(rf"(?:[\s-]+\w+){{0,2}}?[\s-]+(?:{_OFTEN})(?!\w)", re.IGNORECASE)
_OFTEN_BEFORE = re.compile(rf"(?<!\w)(?:{_OFTEN})\s+(?:\w+\s+){{0,2}}$", re.IGNORECASE)


def _often(figure: Figure, text: str, behind: int, since: int) -> Unit | None:
    """The time of "weekly" and its like, right behind or before."""
    said = _OFTEN_BEHIND.match(text, behind) or _OFTEN_BEFORE.search(text[max(since, figure.start - 40) : figure.start])
    if not said:
        return None
    return next(
        unit for words, unit in OFTEN.items() if re.search(rf"(?<!\w)(?:{words})(?!\w)", said[0], re.IGNORECASE)
    )


def _with_rates(found: Sequence[Figure], text: str) -> Iterator[Figure]:
    ends = [match.start() for match in _SENTENCE_END.finditer(text)]
    sentences = [bisect(ends, figure.start) for figure in found]
    units: dict[int, set[Unit]] = {}
    for sentence, figure in zip(sentences, found, strict=True):
        if figure.unit:
            units.setdefault(sentence, set()).add(figure.unit)
    for i, figure in enumerate(found):
        behind = figure.start + len(figure.text) if figure.text and figure.unit else figure.end
        limit = found[i + 1].start if i + 1 < len(found) else len(text)
        rate = _RATE.search(text, min(figure.end, behind), min(limit, figure.end + 60))
        since = max(found[i - 1].end if i else 0, ends[sentences[i] - 1] if sentences[i] else 0)
        ended = rate and _SENTENCE_END.search(text, figure.end, rate.start())
        yield replace(
            figure,
            rate=UNITS[key(rate["unit"])] if rate and not ended else _often(figure, text, behind, since),
            beside=frozenset() if figure.unit else frozenset(units.get(sentences[i], ())),
            leeway=Fraction(1, 4) if _is_about(figure, text, behind) else Fraction(0),
        )


_ABOUT = re.compile(
    rf"(?<!\w)(?:{ABOUT})\s?(?:(?:an?|one|the|die|der|den|les?|las?|los|os?|un[eao]?|uma?|ein\w{{0,2}})\s)?",
    re.IGNORECASE,
)
_ABOUT_BEHIND = re.compile(rf"(?:{ABOUT_BEHIND})(?![\w%])", re.IGNORECASE)


def _is_about(figure: Figure, text: str, behind: int) -> bool:
    """Tell whether a word of approximation stands right before it, or right behind; a telephone number has none."""
    if _PHONE.match(text, figure.start):
        return False
    start = figure.start
    while start and text[start - 1] in "€$£¥ \u00a0":
        start -= 1
    before = text[max(0, start - 24) : figure.start]
    said = next((match for match in _ABOUT.finditer(before) if not before[match.end() :].strip("€$£¥ \u00a0")), None)
    return bool(said or _ABOUT_BEHIND.match(text, figure.end) or _ABOUT_BEHIND.match(text, behind))
