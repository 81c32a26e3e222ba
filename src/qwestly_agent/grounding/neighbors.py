"""Complete figures from adjacent words and figures: a shared unit, a rate, a word of approximation."""

import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from qwestly_agent.base.patterns import pattern
from qwestly_agent.grounding.digits import PHONE
from qwestly_agent.grounding.figure_words import ABOUT, ABOUT_BEHIND, OFTEN
from qwestly_agent.grounding.model import Figure
from qwestly_agent.grounding.units import MEASURES, MINUTES, MONTHS, OCCASIONS, PERCENT, TIMES, UNITS, Unit, key

_BETWEEN = pattern(
    r"[^\S\n]*(?:-|–|—|/|→|[-=]?>|to|bis|auf|von|a|à|au|até|para|al?|tot|and|und|y|e|et|or|oder|ou|o)\s*"
)
_AND = pattern(r",?\s(?:(?:and|et|y|e|und|en)\s)?", re.IGNORECASE)
_PARTS: Mapping[tuple[Unit | None, Unit | None], int] = {
    (UNITS["year"], UNITS["month"]): 12,
    (UNITS["hour"], UNITS["min"]): 60,
    (UNITS["min"], UNITS["s"]): 60,
}
"""How many of the smaller unit make one of the larger."""
_OF_CENTS = frozenset(UNITS[each] for each in ("eur", "usd", "gbp", "chf"))
_BY = pattern(r"(?<!\w)(?:by|um)\s$", re.IGNORECASE)


def with_units_of_neighbors(found: Sequence[Figure], text: str) -> Iterator[Figure]:
    """Share the unit in "80k → 52k €" and "10 to 12 years". In "2 to 3k", the 2 may also mean 2,000."""
    found = list(found)
    units: list[Unit | None] = [figure.unit for figure in found]
    for step in (-1, 1):  # in "in two years from 1.4 to 0.8 %" the unit comes last
        for i in range(len(found))[::step]:
            other = i + step
            if 0 <= other < len(found) and units[other] is None and not found[other].days and not found[i].days:
                if _is_a_change(found[i], found[other], text):
                    continue
                first, second = sorted((i, other))
                unit_end = found[first].end_in(text)
                if _BETWEEN.fullmatch(
                    text, max(found[first].end, min(unit_end, found[second].start)), found[second].start
                ):
                    units[other] = units[i]
                    scale = found[second].scale
                    if step < 0 and scale > found[first].scale == 1 and found[first].year is None:
                        both = found[first].values | {value * scale for value in found[first].values}
                        found[first] = replace(found[first], values=both)
    for figure, unit in zip(found, units, strict=True):
        yield figure if unit is figure.unit else replace(figure, unit=unit)


def with_parts_joined(found: Sequence[Figure], text: str) -> Iterator[Figure]:
    """Join "six years and four months" and "zwei Stunden zehn" into one figure in the smaller unit."""
    waiting: Figure | None = None
    for figure in found:
        if waiting and (joined := _joined(waiting, figure, text)):
            waiting = joined
        else:
            if waiting:
                yield waiting
            waiting = figure
    if waiting:
        yield waiting


def _joined(one: Figure, other: Figure, text: str) -> Figure | None:
    if one.unit in _OF_CENTS and other.unit is None and text[one.end_in(text) : other.start] == " ":
        return _with_cents(one, other, text)
    parts = _PARTS.get((one.unit, other.unit))
    if not parts or one.unread or other.unread or any(value >= parts for value in other.values):
        return None
    if not _AND.fullmatch(text, one.end_in(text), other.start):
        return None
    values = frozenset(a * parts + b for a in one.values for b in other.values)
    return replace(other, start=one.start, text=text[one.start : other.end_in(text)], values=values)


def _with_cents(one: Figure, other: Figure, text: str) -> Figure | None:
    """Join "13 euros 40"."""
    if one.unread or other.unread or not other.values or any(not 10 <= cents < 100 for cents in other.values):
        return None
    values = frozenset(a + b / 100 for a in one.values for b in other.values)
    return replace(one, end=other.end, text=text[one.start : other.end_in(text)], values=values)


def _is_a_change(percent: Figure, other: Figure, text: str) -> bool:
    """True for "by 25 % to 310": the second figure is the result, and no percentage."""
    if percent.unit is None or percent.unit.dimension != PERCENT or percent.start > other.start:
        return False
    by = _BY.search(text, max(0, percent.start - 4), percent.start)
    return bool(by) or all(value > 100 for value in other.values)


_SENTENCE_END = pattern(r"[.!?;]\s|\n")
_TIMES = sorted((word for word, unit in UNITS.items() if unit.dimension in (MINUTES, MONTHS)), key=len, reverse=True)
_MEASURES = sorted((word for word, unit in UNITS.items() if unit.dimension in MEASURES), key=len, reverse=True)
_RATE = pattern(
    r"\s*\w*\s?(?:/|\b(?:per|an?|the|each|every|pro|je|am|im|in der|die|jede[mnrs]?|par|chaque|por|cada"
    r"|ao|al?|à|all['’])\s|\bl['’](?=an(?!\s(?:dernier|passé|prochain))))"
    r"\s?(?:(?:la|el|le|il)\s)?(?:\w+\s(?:and|und|et|y|e|per|pro|par|por)\s)?"
    rf"(?P<unit>{'|'.join(map(re.escape, _TIMES))})(?![^\W\d_])"
    r"|\s*\w*\s?(?:/|\b(?:per|an?|each|every|pro|je|jede[mnrs]?|par|chaque|por|cada)\s|\b(?:à|a)\s(?:la|el)\s)\s?"
    rf"(?P<occasion>{'|'.join(map(re.escape, OCCASIONS))})(?![^\W\d_])"
    rf"|\s*\w*\s?(?:/|\b(?:per|pro|je|par|por)\s)\s?(?P<measure>{'|'.join(map(re.escape, _MEASURES))})(?![^\W\d_])",
    re.IGNORECASE,
)


_RATE_BEFORE = pattern(
    r"(?<!\w)(?:(?:per|each|every|pro|je|jede[mnrs]?|am|im|par|chaque|por|cada|ao|al)\s|à\sl['’])"
    rf"(?P<unit>{'|'.join(map(re.escape, _TIMES))})\s+(?:[^\W\d_]+\s+){{0,4}}[€$£¥]?$",
    re.IGNORECASE,
)
"""Matches before a figure: "im Jahr fahre ich rund 52'000 km"."""
_OFTEN = "|".join(OFTEN)
_OFTEN_BEHIND = pattern(rf"(?:[\s-]+\w+){{0,2}}?[\s-]+(?:{_OFTEN})(?!\w)", re.IGNORECASE)
_OFTEN_BEFORE = pattern(rf"(?<!\w)(?:{_OFTEN})\s+(?:\w+\s+){{0,2}}$", re.IGNORECASE)


def _often(figure: Figure, text: str, behind: int, since: int) -> Unit | None:
    """Return the period given by a word like "weekly" right before or after the figure."""
    said = _OFTEN_BEHIND.match(text, behind) or _OFTEN_BEFORE.search(text[max(since, figure.start - 40) : figure.start])
    if not said:
        return None
    return next(
        unit for words, unit in OFTEN.items() if re.search(rf"(?<!\w)(?:{words})(?!\w)", said[0], re.IGNORECASE)
    )


def _period(rate: re.Match[str]) -> Unit:
    said = rate.groupdict()
    if occasion := said.get("occasion"):
        return OCCASIONS[key(occasion)]
    return UNITS[key(said["unit"] or said["measure"])]


def with_rates(found: Sequence[Figure], text: str) -> Iterator[Figure]:
    ends = [match.start() for match in _SENTENCE_END.finditer(text)]
    sentences = [bisect(ends, figure.start) for figure in found]
    units: dict[int, set[Unit]] = {}
    for sentence, figure in zip(sentences, found, strict=True):
        if figure.unit and figure.unit.dimension != TIMES:
            units.setdefault(sentence, set()).add(figure.unit)
    for i, figure in enumerate(found):
        behind = figure.end_in(text)
        limit = found[i + 1].start if i + 1 < len(found) else len(text)
        rate = _RATE.search(text, min(figure.end, behind), min(limit, figure.end + 60))
        since = max(found[i - 1].end if i else 0, ends[sentences[i] - 1] if sentences[i] else 0)
        ended = rate and (_SENTENCE_END.search(text, figure.end, rate.start()) or "\n" in rate[0])
        if not rate or ended:
            rate = None if figure.days or figure.year else _RATE_BEFORE.search(text, since, figure.start)
        yield replace(
            figure,
            rate=_period(rate) if rate else _often(figure, text, behind, since),
            beside=frozenset() if figure.unit else frozenset(units.get(sentences[i], ())),
            leeway=Fraction(1, 4) if _is_about(figure, text, behind) else Fraction(0),
        )


_ABOUT = pattern(
    rf"(?<!\w)(?:{ABOUT})(?:(?<=['’])|(?![^\W\d_]))\s?"
    r"(?:(?:an?|one|the|die|der|den|das|dem|el|les?|las?|los|os?|un[eao]?|uma?|ein\w{0,2})\s)?",
    re.IGNORECASE,
)
_ABOUT_BEHIND = pattern(rf"(?:{ABOUT_BEHIND})(?![\w%])", re.IGNORECASE)


def _is_about(figure: Figure, text: str, behind: int) -> bool:
    """True if a word of approximation is right before or after the figure. Telephone numbers have none."""
    if PHONE.match(text, figure.start):
        return False
    start = figure.start
    while start and text[start - 1] in "€$£¥ \u00a0":
        start -= 1
    before = text[max(0, start - 24) : figure.start]
    said = next((match for match in _ABOUT.finditer(before) if not before[match.end() :].strip("€$£¥ \u00a0")), None)
    return bool(said or _ABOUT_BEHIND.match(text, figure.end) or _ABOUT_BEHIND.match(text, behind))
