"""Complete figures from the words and figures beside them: a shared unit, a rate, a word of approximation."""

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from qwestly_agent.grounding.digits import PHONE
from qwestly_agent.grounding.figure_words import ABOUT, ABOUT_BEHIND, OFTEN
from qwestly_agent.grounding.model import Figure
from qwestly_agent.grounding.units import MINUTES, MONTHS, UNITS, Unit, key

_BETWEEN = re.compile(r"\s*(?:-|–|—|/|→|[-=]?>|to|bis|auf|von|a|à|au|até|para|al?|tot|and|und|y|e|et|or|oder|ou|o)\s*")


def with_units_of_neighbors(found: Sequence[Figure], text: str) -> Iterator[Figure]:
    """Share the unit in "80k → 52k €" and "10 to 12 years"; the 2 of "2 to 3k" may also mean 2,000."""
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
    """Return the period of a word like "weekly" right before or after the figure."""
    said = _OFTEN_BEHIND.match(text, behind) or _OFTEN_BEFORE.search(text[max(since, figure.start - 40) : figure.start])
    if not said:
        return None
    return next(
        unit for words, unit in OFTEN.items() if re.search(rf"(?<!\w)(?:{words})(?!\w)", said[0], re.IGNORECASE)
    )


def with_rates(found: Sequence[Figure], text: str) -> Iterator[Figure]:
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
    """Check for a word of approximation right before or after the figure; a telephone number has none."""
    if PHONE.match(text, figure.start):
        return False
    start = figure.start
    while start and text[start - 1] in "€$£¥ \u00a0":
        start -= 1
    before = text[max(0, start - 24) : figure.start]
    said = next((match for match in _ABOUT.finditer(before) if not before[match.end() :].strip("€$£¥ \u00a0")), None)
    return bool(said or _ABOUT_BEHIND.match(text, figure.end) or _ABOUT_BEHIND.match(text, behind))
