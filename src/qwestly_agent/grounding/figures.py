"""Parse the figures in a text: numbers, years and dates, with an adjacent unit of the closed tables.

Digits are parsed in every language, with a comma or a dot for thousands and decimals; number words by `text2num`, in
its languages. A figure that cannot be parsed completely ("half a million", "zweieinhalb", "twenty twenty-one") is
marked `unread` and never parsed in part.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from qwestly_agent.base.patterns import pattern
from qwestly_agent.grounding.dates import DATES
from qwestly_agent.grounding.digits import (
    CLOCK,
    DURATION,
    HOUR,
    NUMBER,
    PART,
    PHONE,
    SCALE_BEHIND,
    clock_of,
    date_of,
    duration_of,
    hour_of,
    number_of,
    part_of,
    phone_of,
    unit_after,
)
from qwestly_agent.grounding.figure_words import MULTIPLES, NUMBER_LANGUAGES
from qwestly_agent.grounding.model import Figure
from qwestly_agent.grounding.neighbors import with_parts_joined, with_rates, with_units_of_neighbors
from qwestly_agent.grounding.number_words import COMPOUND, GLUE, NOUN_GLUE, contains_number_word, value_of, word_figures
from qwestly_agent.grounding.units import MEASURES, UNITS, key

_MULTIPLE = pattern(rf"(?<!\w)(?:{MULTIPLES})(?!\w)", re.IGNORECASE)
_ARTICLE = pattern(r"\s+(?:(?:of|de|d['’])\s*)?(?:(?:an?|une?|uma?|ein\w{0,2})\s+)?", re.IGNORECASE)
_CLAUSE_END = pattern(r"\s*(?:[.,;:!?)\n]|$)")
_UNIT_BEFORE = pattern(
    r"(?<!\w)(?P<unit>"
    + "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
    + r")\s(?:and a|et|y|e|und|ed?)\s$",
    re.IGNORECASE,
)


def figures(text: str, language: str = "") -> list[Figure]:
    """Return the figures of the text, in order."""
    return list(_read(text, language if language in NUMBER_LANGUAGES else ""))


@lru_cache(maxsize=512)
def _read(text: str, language: str) -> tuple[Figure, ...]:
    reader = _Reader(text, language)
    reader.read(DATES, date_of)
    reader.read(PHONE, phone_of)
    reader.read(DURATION, duration_of)
    if language == "en":
        reader.read(HOUR, hour_of)
    reader.read(CLOCK, clock_of)
    reader.read(PART, part_of)
    reader.read(NUMBER, number_of)
    reader.read_words()
    return tuple(
        with_rates(list(with_parts_joined(list(with_units_of_neighbors(reader.in_order(), text)), text)), text)
    )


@dataclass
class _Reader:
    text: str
    language: str
    found: list[Figure] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.taken = bytearray(len(self.text))

    def read(self, pattern: re.Pattern[str], make: Callable[[re.Match[str], str], Figure | None]) -> None:
        for match in pattern.finditer(self.text):
            figure = None if any(self.taken[match.start() : match.end()]) else make(match, self.language)
            if figure:  # with its unit: "ciento" in "4 por ciento" is no number
                self.take(figure, match.start(), max(match.end(), figure.end_in(self.text)))

    def take(self, figure: Figure, start: int, end: int) -> None:
        self.taken[start:end] = b"\1" * (end - start)
        self.found.append(figure)

    def read_words(self) -> None:
        for start, end, unread in word_figures(self.text, self.language, self.taken):
            if any(self.taken[start:end]):  # "cent" in "vingt-cinq pour cent"
                continue
            if unread:
                self._take_unread(start, end)
            elif (value := value_of(self.text[start:end], self.language)) != 1:
                self._take_value(start, end, value or 0)
            elif (unit := unit_after(self.text, end, self.language)[0]) and unit.dimension in MEASURES:
                self._take_unread(start, end)  # it is often just an article
        for match in _MULTIPLE.finditer(self.text):
            if not any(self.taken[match.start() : match.end()]):
                self.take(Figure(*match.span(), match[0], unit=UNITS["times"], unread=True), *match.span())

    def _take_value(self, start: int, end: int, value: int) -> None:
        unit, unit_end = unit_after(self.text, end, self.language)
        self.take(Figure(start, end, self.text[start:unit_end], frozenset({Fraction(value)}), unit), start, unit_end)

    def _take_unread(self, start: int, end: int) -> None:
        """Add "3 dozen" or "half an hour" as one unread figure, with the adjacent number and unit."""
        touching = next((each for each in self.found if not each.days and self._touches(each, start, end)), None)
        unit, unit_end = unit_after(self.text, end, self.language)
        if unit is None and (article := _ARTICLE.match(self.text, end)):
            unit, unit_end = unit_after(self.text, article.end() - 1, self.language)
            unit_end = unit_end if unit else end
        if not (touching or unit) and (before := _UNIT_BEFORE.search(self.text, max(0, start - 30), start)):
            start, unit = before.start("unit"), UNITS[key(before["unit"])]  # "un an et demi"
        if touching:
            self.found.remove(touching)
            start, unit = touching.start, unit or touching.unit
        is_figure = COMPOUND.search(self.text, start, end) or contains_number_word(self.text[start:end], self.language)
        is_figure = is_figure or SCALE_BEHIND.match(self.text, end)  # "eine halbe Mio."
        if touching or unit or is_figure:
            self.take(Figure(start, end, self.text[start:unit_end], unit=unit, unread=True), start, unit_end)

    def _touches(self, figure: Figure, start: int, end: int) -> bool:
        """True if the figure, with or without its unit, ends right before this position: "2 and a half", "dos años y
        medio"."""
        glues = (GLUE, NOUN_GLUE) if _CLAUSE_END.match(self.text, end) else (GLUE,)
        ends = (figure.end, figure.end_in(self.text))
        return any(each < start and glue.fullmatch(self.text, each, start) for each in ends for glue in glues)

    def in_order(self) -> list[Figure]:
        return sorted(self.found, key=lambda figure: figure.start)
