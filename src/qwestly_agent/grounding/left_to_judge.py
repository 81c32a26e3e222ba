"""Recognize figures that code cannot check, so that the judge decides: those that the quotes may express in words, that
are near a known figure, or that need more than one step.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction

from qwestly_agent.base.patterns import pattern
from qwestly_agent.grounding.arithmetic import one_step
from qwestly_agent.grounding.compare_figures import (
    MOST_FIGURES,
    dimension_of,
    has_words,
    is_same,
    kind_of,
    kind_of_unit,
)
from qwestly_agent.grounding.figure_words import HALF, IMPLIED, OTHERS
from qwestly_agent.grounding.figures import figures
from qwestly_agent.grounding.model import Figure
from qwestly_agent.grounding.more_than_a_step import (
    MOST_LISTED,
    is_a_rest,
    is_a_share,
    is_a_sum_of_some,
    is_by_more_than_a_step,
    is_by_numbers_alone,
)
from qwestly_agent.grounding.quotes import FoundQuote
from qwestly_agent.grounding.told_by_times import is_told_by_another_time
from qwestly_agent.grounding.units import DOLLARS_OR_PESOS, MINUTES, MONTHS, PERCENT, TIMES, UNITS, key

MOST_NAMED = 4
"""Largest number of things that a text names one by one instead of counting them."""

DERIVED: Mapping[str, Sequence[str]] = {
    "count": ("share", "time", "measure", "money or anything else"),
    "share": ("count", "money or anything else"),
    "time": ("date",),
    "date": ("time",),
}
"""Of which other kinds a figure is computed, or named without its unit: such a one is wrong, and not misread."""

_ONE = pattern(
    rf"(?<!\w)(?:an?|one|ein\w{{0,2}}|une?|un[ao]|uma?|een)\s(?P<unit>{'|'.join(map(re.escape, UNITS))})(?!\w)",
    re.IGNORECASE,
)
_LISTED = pattern(r",?\s(?:and|und|et|y|e|en|or|oder|ou|o)\s|,\s|\s[&+/]\s")


def is_left_to_judge(figure: Figure, known: Sequence[Figure], quotes: Sequence[FoundQuote], today: date) -> bool:
    """Check if the quotes may support the figure in a way that code cannot verify."""
    exact = replace(figure, leeway=Fraction(0))
    return (
        any(_may_be(exact, each) for each in known)
        or _is_about(figure, known, today)
        or _is_a_short_year(exact, known)
        or _is_a_count(exact, known)
        or _is_implied(exact, quotes)
        or is_a_share(exact, known)
        or is_told_by_another_time(exact, known, quotes, today)
        or _has_no_unit_there(exact, known, today)
        or is_by_more_than_a_step(exact, known)
        or is_by_numbers_alone(replace(exact, leeway=figure.leeway), known)
        or is_a_sum_of_some(exact, known)
        or is_a_rest(exact, known, "\n".join(found.sentence for found in quotes))
    )


def _may_be(figure: Figure, known: Figure) -> bool:
    """Recognize a known figure that code cannot parse and the judge may find equal."""
    one, other = figure.unit, known.unit
    if one is None and other and figure.values & known.values:
        return True  # "by 30" for "by 30 %", or thirty of something else
    if one and other and figure.values & known.values and kind_of_unit(one) != kind_of_unit(other):
        return True  # one of the two may be misread: "90 Sek." is no money
    if {dimension_of(figure), dimension_of(known)} == {DOLLARS_OR_PESOS, "USD"} and figure.values & known.values:
        return True
    derived = one is not None and one.dimension in (PERCENT, TIMES)
    return (
        known.unread
        and not figure.days
        and (one is None or other is None or derived or one.dimension == other.dimension)
    )


def may_be_misread(figure: Figure, stated: Sequence[Figure], known: Sequence[Figure]) -> bool:
    """Check if the quotes have figures that the statement does not repeat, and all of other kinds: a slip changes a
    figure and not its kind, so that one of them may be this one, written in a way that code does not know."""
    left = {kind_of(each) for each in known if not any(is_same(one, each) for one in stated)}
    mine = kind_of(figure)
    return bool(left) and left.isdisjoint({mine, *DERIVED.get(mine, ())})


def _is_about(figure: Figure, known: Sequence[Figure], today: date) -> bool:
    """Recognize a figure near a known one: within the leeway of its words, or of its rounding."""
    if figure.days or (figure.year and figure.text.strip().isdigit()):
        return False
    if figure.leeway and (
        any(is_same(figure, each) for each in known) or one_step(figure, known[:MOST_FIGURES], today)
    ):
        return True
    rounded = replace(figure, leeway=max((_rounding(value) for value in figure.values), default=Fraction(0)))
    return bool(rounded.leeway) and any(is_same(rounded, each) for each in known)


def _rounding(value: Fraction) -> Fraction:
    """Return the relative error of rounding to this number's digits; 0 if it has fewer than two."""
    places = next((i for i in range(7) if (value * 10**i).denominator == 1), None)
    if not value or places is None:
        return Fraction(0)
    written = str((value * 10**places).numerator)
    digits = written.rstrip("0")
    return Fraction(10 ** (len(written) - len(digits)), 2 * 10**places) / value if len(digits) > 1 else Fraction(0)


def _is_a_short_year(figure: Figure, known: Sequence[Figure]) -> bool:
    """Recognize a year of which the quotes give two digits: "15-18 at Bosch", "2015 to 18", "summer 17"."""
    years = {figure.year, *(day.year for day in figure.days)} - {None}
    bare = {value for each in known if each.unit is None for value in each.values}
    return any(Fraction((year or 0) % 100) in bare for year in years)


def _is_implied(figure: Figure, quotes: Sequence[FoundQuote]) -> bool:
    """Recognize a small number that words of the quotes may imply ("both", "with two others", "a year"), or a list."""
    text = "\n".join(found.text for found in quotes)
    ones = (UNITS[key(match["unit"])] for match in _ONE.finditer(text))
    if any(one.dimension == dimension_of(figure) and one.factor in figure.amounts for one in ones):
        return True
    value = next(iter(figure.values), None)
    if dimension_of(figure) == PERCENT and value == 50 and has_words(HALF, text):
        return True
    if (
        value is None
        or len(figure.values) > 1
        or not (0 <= value <= MOST_LISTED or value in IMPLIED)
        or value.denominator != 1
    ):
        return False
    counted = figure.unit is None or figure.unit.dimension == TIMES
    is_time = dimension_of(figure) in (MINUTES, MONTHS)
    sayable = value in IMPLIED and (counted or value > MOST_NAMED or (value == 1 and is_time))
    if sayable and has_words(IMPLIED[int(value)], text):
        return True
    if not counted:
        return False
    others = {each for found in quotes for each in figures(found.text, found.source.language) if each.unit is None}
    if has_words(OTHERS, text) and any(value - 1 in each.values for each in others):
        return True
    return any(len(_LISTED.findall(line)) + 1 == value > 1 for line in re.split(r"[.!?;:]\s|\n", text))


def _is_a_count(figure: Figure, known: Sequence[Figure]) -> bool:
    """Recognize a small number of things or units of time that the quotes may name one by one, if they count none."""
    dated = sum(bool(each.days or each.year) for each in known)
    if dated > 1 and dated in figure.values and dimension_of(figure) in ("", TIMES):  # "won it in 2021 and 2024": twice
        return True
    small = bool(figure.values) and all(value <= MOST_NAMED and value.denominator == 1 for value in figure.values)
    if dimension_of(figure) in (MINUTES, MONTHS):
        return small and not any(each.days or each.year or dimension_of(each) in (MINUTES, MONTHS) for each in known)
    counted = any(each.unit is None and not each.days and each.year is None for each in known)
    return small and figure.unit is None and not counted


def _has_no_unit_there(figure: Figure, known: Sequence[Figure], today: date) -> bool:
    """Recognize a number that the quotes give without a unit: "started with 16" for sixteen years, "120k" for euros."""
    bare, there = replace(figure, unit=None, rate=None), [each for each in known if each.unit is None and not each.days]
    if figure.days:
        return False
    if figure.unit and any(
        is_same(bare, each) and all(unit.dimension != figure.unit.dimension for unit in each.beside) for each in there
    ):
        return True
    for one, other in ((figure, each) for each in known):  # "3m users"
        if any(
            a.text.endswith("m") and v * 10**6 in b.values for a, b in ((one, other), (other, one)) for v in a.values
        ):
            return True
    scales = {each.scale for each in known}  # "48 mil, em 2012 eram 19"
    scaled = [
        replace(each, values=frozenset(value * scale for value in each.values))
        for each in there
        if each.scale == 1
        for scale in scales - {1}
    ]
    if any(is_same(figure, each) for each in scaled) or (scaled and one_step(figure, [*known, *scaled], today)):
        return True
    return bool(figure.unit and one_step(bare, there[:MOST_FIGURES], today))
