"""Compare figures: only equal ones match, even if one is approximate ("nearly 300"); and read what a figure counts and
whether it rises or falls."""

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from qwestly_agent.grounding.dates import Day
from qwestly_agent.grounding.figure_words import FALLING, LEFT, OF, RISING
from qwestly_agent.grounding.model import Figure
from qwestly_agent.grounding.units import (
    DEGREES,
    DOLLARS_OR_PESOS,
    PERCENT,
    PESOS,
    POUNDS,
    TIMES,
)

EITHER: Mapping[str, frozenset[str]] = {
    POUNDS: frozenset({"GBP", "mass"}),
    DEGREES: frozenset({"celsius", "fahrenheit"}),
    DOLLARS_OR_PESOS: frozenset({PESOS}),
}


def is_same(figure: Figure, known: Figure) -> bool:
    if figure.days:
        days = known.days or ((Day(known.year),) if known.year else ())
        return any(told.says(day) for told in days for day in figure.days)
    bare = known.rate is None and known.unit is None and figure.unit  # "90 kilos a week, now 27"
    if figure.rate and figure.rate != known.rate and not bare:
        return False
    if figure.unit is None and known.unit and known.unit.dimension != TIMES:
        return False  # its unit may be missing in the tables
    if figure.unit is None or (figure.unit.dimension == TIMES and known.unit is None):
        years = {day.year for day in known.days}
        return meet(figure.values, known.values) or (figure.year is not None and figure.year in years)
    if known.unit is None:
        beside = [unit.factor for unit in known.beside if unit.dimension == figure.unit.dimension]
        return meet(figure.amounts, [value * factor for value in known.values for factor in beside])
    dimensions = {known.unit.dimension, figure.unit.dimension}
    if any(either in dimensions and dimensions <= {either, *they} for either, they in EITHER.items()):
        return meet(figure.values, known.values)
    if figure.values == known.values and len(figure.values) > 1 and figure.unit.factor != known.unit.factor:
        return False  # "74.000 kg" is never "74.000 t", with either meaning of the dot
    return len(dimensions) == 1 and meet(figure.amounts, known.amounts)


def meet(mine: Iterable[Fraction], theirs: Iterable[Fraction]) -> bool:
    """True if the two sides have a value in common."""
    return not frozenset(mine).isdisjoint(theirs)


def days_in(figure: Figure) -> Sequence[Day]:
    return figure.days or ((Day(figure.year),) if figure.year else ())


def dimension_of(figure: Figure) -> str:
    return figure.unit.dimension if figure.unit else ""


def has_words(words: str, text: str) -> bool:
    return bool(re.search(rf"(?<!\w)(?:{words})(?!\w)", text, re.IGNORECASE))


def counted_words(figure: Figure, text: str) -> tuple[str, ...]:
    """Return what a figure counts: the first letters of up to three words after it, stopping at a short word such as
    "in" or "and"."""
    behind = re.match(r"(?:[\s-]+[^\W\d_]{4,}){0,3}", text[figure.end_in(text) :])
    return tuple(word.casefold()[:5] for word in re.findall(r"[^\W\d_]+", behind[0] if behind else ""))


def is_fall(figure: Figure, text: str) -> bool:
    """True if the figure is a percentage of decrease: "fell by 38 %", but not "to 38 %" or "38 % of it"."""
    return _is_change(figure, text, FALLING)


def is_rise(figure: Figure, text: str) -> bool:
    """True if the figure is a percentage of increase, and its text has no word of decrease."""
    return _is_change(figure, text, RISING) and not has_words(FALLING, text)


def _is_change(figure: Figure, text: str, words: str) -> bool:
    if dimension_of(figure) != PERCENT:
        return False
    sentence = re.split(r"[.!?;]\s|\n", text[: figure.start])[-1]
    left = re.search(rf"(?<!\w)(?:{LEFT})\s+$", sentence, re.IGNORECASE)
    share = re.match(rf"\s+(?:{OF})(?!\w)", text[figure.end_in(text) :], re.IGNORECASE)
    return has_words(words, sentence) and not left and not share
