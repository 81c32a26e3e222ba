"""Compare figures: equal, equal after rounding, or of the same dimension."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import permutations

from qwestly_agent.grounding.dates import Day
from qwestly_agent.grounding.model import Figure
from qwestly_agent.grounding.units import (
    DEGREES,
    DOLLARS_OR_PESOS,
    MEASURES,
    MINUTES,
    MONTHS,
    PERCENT,
    PESOS,
    POUNDS,
    TIMES,
    Unit,
)

MOST_FIGURES = 12
"""Limit of figures from all quotes that arithmetic uses: it tries every pair."""
EITHER: Mapping[str, frozenset[str]] = {
    POUNDS: frozenset({"GBP", "mass"}),
    DEGREES: frozenset({"celsius", "fahrenheit"}),
    DOLLARS_OR_PESOS: frozenset({PESOS}),
}
SLIPS = frozenset(map(Fraction, (10, 100, 1000)))
"""Factors that a misplaced zero causes: not accepted as a step of arithmetic, but left to the judge."""


def is_same(figure: Figure, known: Figure) -> bool:
    if figure.days:
        days = known.days or ((Day(known.year),) if known.year else ())
        return any(told.says(day) for told in days for day in figure.days)
    bare = known.rate is None and known.unit is None and figure.unit  # "90 kilos a week, now 27"
    if figure.rate and figure.rate != known.rate and not bare:
        return False
    if figure.unit is None and known.unit and known.unit.dimension != TIMES:
        return False  # it may have a unit that is in no table
    if figure.unit is None or (figure.unit.dimension == TIMES and known.unit is None):
        years = {day.year for day in known.days}
        return meet(figure, figure.values, known.values) or (figure.year is not None and figure.year in years)
    if known.unit is None:
        beside = [unit.factor for unit in known.beside if unit.dimension == figure.unit.dimension]
        return meet(figure, figure.amounts, [value * factor for value in known.values for factor in beside])
    dimensions = {known.unit.dimension, figure.unit.dimension}
    if any(either in dimensions and dimensions <= {either, *they} for either, they in EITHER.items()):
        return meet(figure, figure.values, known.values)
    if figure.values == known.values and len(figure.values) > 1 and figure.unit.factor != known.unit.factor:
        return False  # "74.000 kg" is not "74.000 t", whichever way it is read
    return len(dimensions) == 1 and meet(figure, figure.amounts, known.amounts)


def meet(figure: Figure, mine: Iterable[Fraction], theirs: Iterable[Fraction]) -> bool:
    """Check that a value of each side is equal within the figure's leeway."""
    if not figure.leeway:
        return not frozenset(mine).isdisjoint(theirs)
    return any(abs(one - other) <= figure.leeway * abs(other) for one in mine for other in theirs)


def is_rounded(figure: Figure, exact: Fraction) -> bool:
    """Check that the figure equals the exact number when rounded to the figure's own places."""
    return any(
        abs(value - exact) <= max(Fraction(1, 2 if value.denominator == 1 else 20), figure.leeway * exact)
        for value in figure.values
    )


def pairs(known: Sequence[Figure]) -> Iterator[tuple[Figure, Figure, Fraction, Fraction]]:
    """Yield pairs of figures of one dimension with their amounts; a figure without a unit takes that of the other."""
    for one, other in permutations(known, 2):
        unit = one.unit or other.unit
        dimensions = {dimension_of(one), dimension_of(other)}
        # "From 38 % to 31": a bare number above 100 is a count and never a percentage.
        shares = PERCENT not in dimensions or max((*one.values, *other.values), default=0) <= 100
        alike = len(dimensions) == 1 or ("" in dimensions and shares)
        if alike and one.year is None and other.year is None:
            factor = unit.factor if unit else Fraction(1)
            for a in one.amounts if one.unit else {value * factor for value in one.values}:
                for b in other.amounts if other.unit else {value * factor for value in other.values}:
                    yield one, other, a, b


def has_one_unit(one: Figure, other: Figure) -> bool:
    """Check that one of them is of a dimension, and the other a bare number; a percentage may lend its sign."""
    return bool(one.unit) != bool(other.unit) and PERCENT not in (dimension_of(one), dimension_of(other))


def days_in(figure: Figure) -> Sequence[Day]:
    return figure.days or ((Day(figure.year),) if figure.year else ())


def dimension_of(figure: Figure) -> str:
    return figure.unit.dimension if figure.unit else ""


def has_words(words: str, text: str) -> bool:
    return bool(re.search(rf"(?<!\w)(?:{words})(?!\w)", text, re.IGNORECASE))


def kind_of(figure: Figure) -> str:
    if figure.days or figure.year:
        return "date"
    return kind_of_unit(figure.unit) if figure.unit else "count"


def kind_of_unit(unit: Unit) -> str:
    if unit.dimension in (MINUTES, MONTHS):
        return "time"
    if unit.dimension in MEASURES:
        return "measure"
    return "share" if unit.dimension in (PERCENT, TIMES, "percentage points") else "money or anything else"
