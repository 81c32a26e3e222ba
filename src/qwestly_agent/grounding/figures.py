"""Reads the figures of a text: numbers, years and dates, with a unit of the closed table where one stands by them.

Digits are read in every language, with either sign for thousands and decimals; number words by `text2num`, in the
languages that it reads. A figure that cannot be read whole ("half a million", "zweieinhalb", "twenty twenty-one") is
marked `unread` and never read in part.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from qwestly_agent.grounding.dates import DATES, Day, days_of
from qwestly_agent.grounding.number_words import COMPOUND, GLUE, value_inside, value_of, word_figures
from qwestly_agent.grounding.units import (
    CURRENCIES_BEFORE,
    MINUTES,
    MONTHS,
    MULTIPLES,
    NUMBER_LANGUAGES,
    SCALES,
    UNITS,
    Unit,
)


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

    @property
    def year(self) -> int | None:
        """Where it is a bare number that can be one."""
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
    reader.read(_CLOCK, _clock)
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
            if unread:
                self._take_unread(start, end)
            elif (value := value_of(self.text[start:end], self.language)) != 1:  # an article, as often as not
                self._take_value(start, end, value or 0)
        for match in _MULTIPLE.finditer(self.text):
            if not any(self.taken[match.start() : match.end()]):
                self.take(Figure(*match.span(), match[0], unit=UNITS["times"], unread=True), *match.span())

    def _take_value(self, start: int, end: int, value: int) -> None:
        unit, unit_end = _unit_behind(self.text, end)
        self.take(Figure(start, end, self.text[start:unit_end], frozenset({Fraction(value)}), unit), start, unit_end)

    def _take_unread(self, start: int, end: int) -> None:
        """ "2½" in words, "3 dozen", "half an hour": with the number and the unit that stand by it, or not at all."""
        touching = next((each for each in self.found if not each.days and self._touches(each, start)), None)
        unit, unit_end = _unit_behind(self.text, end)
        if unit is None and (article := _ARTICLE.match(self.text, end)):
            unit, unit_end = _unit_behind(self.text, article.end() - 1)
            unit_end = unit_end if unit else end
        if touching:
            self.found.remove(touching)
            start, unit = touching.start, unit or touching.unit
        is_figure = COMPOUND.search(self.text, start, end) or value_inside(self.text[start:end], self.language)
        if touching or unit or is_figure:
            self.take(Figure(start, end, self.text[start:unit_end], unit=unit, unread=True), start, unit_end)

    def _touches(self, figure: Figure, start: int) -> bool:
        """Whether it stands right before, with its unit or without: "2 and a half", "dos años y medio"."""
        ends = (figure.end, figure.start + len(figure.text))
        return any(end < start and GLUE.fullmatch(self.text, end, start) for end in ends)

    def in_order(self) -> list[Figure]:
        return sorted(self.found, key=lambda figure: figure.start)


# --- digits -----------------------------------------------------------------------------------------------------------

_MULTIPLE = re.compile(rf"(?<!\w)(?:{MULTIPLES})(?!\w)", re.IGNORECASE)
_ARTICLE = re.compile(r"\s+(?:(?:of|de|d['’])\s*)?(?:(?:an?|une?|uma?|ein\w{0,2})\s+)?", re.IGNORECASE)
_PHONE = re.compile(r"(?<![\w.,])(?<!\d\s)(?:\+\d|\(?0\d)[\d\s()/.-]{5,}\d(?!\w)")
_CLOCK = re.compile(r"(?<![\w.,:])(?P<hours>\d{1,2})(?:\s?h\s?|:)(?P<minutes>[0-5]\d)(?![\w:])", re.IGNORECASE)
_BEFORE = "|".join(sorted(map(re.escape, CURRENCIES_BEFORE), key=len, reverse=True))
_SCALE = "|".join(sorted((*map(re.escape, SCALES), "billions?", "b", "m"), key=len, reverse=True))
_NUMBER = re.compile(
    rf"""(?ix)
    (?:(?<!\w)(?P<before>{_BEFORE})\s?)?
    (?<![\d.,])(?<!\d['’\u00a0\u202f]) (?P<number>
        \d{{1,3}}(?:[.,'’\ \u00a0\u202f\u2009]\d{{3}}(?!\d))+(?:[.,]\d+)?
      | \d+(?:[.,]\d+)*
    )
    (?:\s?(?P<fraction>[½¼¾⅓⅔⅛]))?
    (?: [\ \u00a0\u202f-]?(?P<scale>{_SCALE})(?!\w) | (?P<ordinal>st|nd|rd|th|er|ère|ème|e|º|ª|o|a|s|er)(?!\w) )?
    (?:\.?-?(?P<glued>(?!{_SCALE})[^\W\d_]+))?
    | (?<!\w)(?P<alone>[½¼¾⅓⅔⅛])
    """
)
_FRACTIONS = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3", "⅛": "1/8"}


def _date(_: _Reader, match: re.Match[str]) -> Figure | None:
    days = tuple(days_of(match))
    return Figure(match.start(), match.end(), match[0], days=days) if days else None


def _phone(_: _Reader, match: re.Match[str]) -> Figure:
    return Figure(match.start(), match.end(), match[0], frozenset({Fraction(re.sub(r"\D", "", match[0]))}))


def _clock(_: _Reader, match: re.Match[str]) -> Figure:
    minutes = int(match["hours"]) * 60 + int(match["minutes"])
    return Figure(match.start(), match.end(), match[0], frozenset({Fraction(minutes)}), UNITS["min"])


def _number(reader: _Reader, match: re.Match[str]) -> Figure | None:
    if match["alone"]:
        return _with_unit(reader.text, match.start("alone"), match.end(), {Fraction(_FRACTIONS[match["alone"]])}, None)
    before, scale, start = match["before"], match["scale"], match.start("number")
    if scale == "m" and not before:  # metres
        scale = None
    end = match.end("scale") if scale else match.end("ordinal") if match["ordinal"] else match.end("number")
    values = set(_values(match["number"]))
    if match["fraction"]:
        end = max(end, match.end("fraction"))
        values = {value + Fraction(_FRACTIONS[match["fraction"]]) for value in values}
    factor = _factor(scale, bool(before), reader.language) if scale else 1
    if scale and factor is None and scale.lower() not in UNITS:
        return Figure(start, end, reader.text[start:end], unread=True)
    glued = match["glued"]
    if not before and glued and glued.lower() not in UNITS and match.start("glued") == match.end("number"):
        return None  # part of a name: "3D", "5S"
    unit = Unit(CURRENCIES_BEFORE[before.lower()]) if before else None
    return _with_unit(reader.text, start, end, {value * (factor or 1) for value in values}, unit, match.start())


def _with_unit(
    text: str, start: int, end: int, values: set[Fraction], unit: Unit | None, shown: int | None = None
) -> Figure:
    behind, unit_end = (None, end) if unit else _unit_behind(text, end)
    return Figure(start, end, text[start if shown is None else shown : unit_end], frozenset(values), unit or behind)


def _factor(scale: str, is_money: bool, language: str) -> int | None:
    """None where the letter or word may mean something else."""
    if scale == "M" or (scale == "m" and is_money):
        return 1_000_000
    if scale.lower() in ("billion", "billions", "b"):
        return 10**9 if language == "en" or (is_money and scale.lower() == "b") else None
    if scale.lower() in ("mil", "mille") and language not in ("es", "pt", "it", "fr", ""):
        return None
    return SCALES.get(scale.lower())


def _values(digits: str) -> Iterator[Fraction]:
    """What the digits may mean: "1.200" is 1200 here and 1.2 there, "1,200.50" is one thing only."""
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
    + r")(?![^\W\d_])",
    re.IGNORECASE,
)


def _unit_behind(text: str, end: int) -> tuple[Unit | None, int]:
    match = _UNIT.match(text, end)
    return (UNITS[match["unit"].lower()], match.end()) if match else (None, end)


# --- neighbours -------------------------------------------------------------------------------------------------------

_BETWEEN = re.compile(r"\s*(?:-|–|—|/|→|[-=]?>|to|bis|auf|von|a|à|au|até|para|al?|tot|and|und|y|e|et|or|oder|ou|o)\s*")


def _with_units_of_neighbours(found: Sequence[Figure], text: str) -> Iterator[Figure]:
    """ "80k → 52k €", "10 to 12 years": both have the unit that one of them is given."""
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
    for figure, unit in zip(found, units, strict=True):
        yield figure if unit is figure.unit else replace(figure, unit=unit)


_SENTENCE_END = re.compile(r"[.!?;]\s|\n")
_TIMES = sorted((word for word, unit in UNITS.items() if unit.dimension in (MINUTES, MONTHS)), key=len, reverse=True)
_RATE = re.compile(
    r"\s*\w*\s?(?:/|\b(?:per|an?|each|every|pro|je|am|im|in der|par|por|ao|al?|à|all['’])\s)\s?(?:(?:la|el|le|il)\s)?"
    rf"(?P<unit>{'|'.join(map(re.escape, _TIMES))})(?![^\W\d_])",
    re.IGNORECASE,
)


def _with_rates(found: Sequence[Figure], text: str) -> Iterator[Figure]:
    for i, figure in enumerate(found):
        behind = figure.start + len(figure.text) if figure.text and figure.unit else figure.end
        limit = found[i + 1].start if i + 1 < len(found) else len(text)
        rate = _RATE.search(text, min(figure.end, behind), min(limit, figure.end + 60))
        ended = rate and _SENTENCE_END.search(text, figure.end, rate.start())
        units = frozenset(each.unit for each in found if each.unit and _in_one_sentence(text, figure, each))
        yield replace(
            figure,
            rate=UNITS[rate["unit"].lower()] if rate and not ended else None,
            beside=frozenset() if figure.unit else units,
        )


def _in_one_sentence(text: str, one: Figure, other: Figure) -> bool:
    first, second = sorted((one, other), key=lambda figure: figure.start)
    return not _SENTENCE_END.search(text, first.end, second.start)
