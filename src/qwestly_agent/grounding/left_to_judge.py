"""Recognize figures that code cannot check, so that the judge decides: those that the quotes may express in words, that
are near a known figure, or that need more than one step.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import permutations
from math import gcd

from qwestly_agent.grounding.arithmetic import one_step
from qwestly_agent.grounding.compare_figures import (
    MOST_FIGURES,
    SLIPS,
    days_in,
    dimension_of,
    has_words,
    is_rounded,
    is_same,
    pairs,
)
from qwestly_agent.grounding.figure_words import IMPLIED, MONTHS_BY_NAME, OTHERS, RELATIVE
from qwestly_agent.grounding.figures import figures
from qwestly_agent.grounding.model import Figure
from qwestly_agent.grounding.quotes import FoundQuote
from qwestly_agent.grounding.units import MINUTES, MONTHS, PERCENT, TIMES, UNITS, key

MOST_NAMED = 4
"""Largest number of things that a text names one by one instead of counting them."""
MOST_LISTED = 10
"""Largest number of things that a text lists with commas."""
MOST_AGE = 100
CALENDAR = frozenset(map(Fraction, (4, 5, 7, 12, 24, 30, 52, 60, 365)))
"""Ratios of units of time: weeks of a month, working days of a week, months of a year."""

_CLOCK = re.compile(r"\d\s?(?::\d|[ap]\.?m\b|uhr\b)|\dh\b|\d\s?h\s?\d", re.IGNORECASE)
_ONE = re.compile(
    rf"(?<!\w)(?:an?|one|ein\w{{0,2}}|une?|un[ao]|uma?|een)\s(?P<unit>{'|'.join(map(re.escape, UNITS))})(?!\w)",
    re.IGNORECASE,
)
_LISTED = re.compile(r",?\s(?:and|und|et|y|e|en|or|oder|ou|o)\s|,\s|\s[&+/]\s")


def is_left_to_judge(figure: Figure, known: Sequence[Figure], quotes: Sequence[FoundQuote], today: date) -> bool:
    """Check if the quotes may support the figure in a way that code cannot verify."""
    exact = replace(figure, leeway=Fraction(0))
    return (
        any(_may_be(exact, each) for each in known)
        or _is_about(figure, known, today)
        or _is_a_short_year(exact, known)
        or _is_a_count(exact, known)
        or _is_implied(exact, quotes)
        or _is_a_share(exact, known)
        or _is_by_another_time(exact, known)
        or _is_placed_by_another(exact, known, quotes, today)
        or _has_no_unit_there(exact, known, today)
        or _is_by_more_than_a_step(exact, known)
    )


def _may_be(figure: Figure, known: Figure) -> bool:
    """Recognize a known figure that code cannot parse and the judge may find equal."""
    one, other = figure.unit, known.unit
    if one is None and dimension_of(known) == PERCENT and figure.values & known.values:
        return True  # "by 30" for "by 30 %", or thirty of something else
    derived = one is not None and one.dimension in (PERCENT, TIMES)
    return (
        known.unread
        and not figure.days
        and (one is None or other is None or derived or one.dimension == other.dimension)
    )


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


def _is_a_share(figure: Figure, known: Sequence[Figure]) -> bool:
    """Recognize "one in five" for 20 % or for 10 of 50, and the reverse."""
    for each in known:
        percent, count = (figure, each) if dimension_of(figure) == PERCENT else (each, figure)
        if dimension_of(percent) == PERCENT and count.unit is None:
            shares = [
                (part, whole)
                for whole in range(2, MOST_LISTED + 1)
                for part in range(1, whole)
                if gcd(part, whole) == 1
                and any(abs(value - Fraction(100 * part, whole)) < 1 for value in percent.values)
            ]
            if any(value in share for value in count.values for share in shares if value > 1):
                return True
    counts = [each for each in known if each.unit is None and each.year is None]
    if any(a * b in figure.values for *_, a, b in pairs(counts[:MOST_FIGURES]) if a in SLIPS):
        return True
    return figure.unit is None and any(
        1 < value <= MOST_LISTED and 0 < a < b and value in (Fraction(a, b).numerator, Fraction(a, b).denominator)
        for value in figure.values
        for *_, a, b in pairs(counts[:MOST_FIGURES])
    )


def _is_by_another_time(figure: Figure, known: Sequence[Figure]) -> bool:
    """Recognize a rate whose period only one side names, and an hour without a.m. or p.m."""
    for each in known:
        ratios = {max(a / b, b / a) for a in figure.amounts for b in each.amounts if a and b}
        if (
            dimension_of(each) == dimension_of(figure)
            and bool(each.rate) != bool(figure.rate)
            and ratios & (CALENDAR | {1})
        ):
            return True
        if _CLOCK.search(each.text) and (figure.unit is None or _CLOCK.search(figure.text)):
            mine = figure.amounts if figure.unit else {value * 60 for value in figure.values}
            leeway = 0 if figure.unit else 60  # "half past six", "halb sieben"
            if any(abs(b - a - half) <= leeway for a in mine for b in each.amounts for half in (-720, 0, 720)):
                return True
    return False


def _is_placed_by_another(figure: Figure, known: Sequence[Figure], quotes: Sequence[FoundQuote], today: date) -> bool:
    """Recognize a time relative to another one: a year later, last summer, born in 1990."""
    years = {day.year for each in known for day in days_in(each) if day.year}
    text = "\n".join(found.text for found in quotes)
    if figure.days or figure.year:
        month = next((day.month for day in figure.days if day.month), None)
        if month and not any(day.year for day in figure.days):  # "in March": refused if the quotes name another month
            told = {number for word in re.findall(r"[^\W\d_]+", text) if (number := MONTHS_BY_NAME.get(word.lower()))}
            if any(day.day for day in figure.days):
                return not any(day.day for each in known for day in each.days)
            return month in told or not any(day.month for each in known for day in each.days)
        mine = {day.year for day in days_in(figure) if day.year}
        if not mine and not years:  # a decade, if the quotes name no year
            return True
        lasting = {abs(value) for each in known if dimension_of(each) == MONTHS for value in each.values}
        if any(abs(one - other) in lasting for one in mine for other in years | {today.year}):
            return True
        return has_words(RELATIVE, text) and any(
            abs(one - other) <= 1 for one in mine for other in years | {today.year}
        )
    spans = {abs(one - other) for one in years for other in years | {today.year}}
    if figure.unit is None:
        return any(value in (span, span + 1) for value in figure.values for span in spans if 0 < span < MOST_AGE)
    return figure.unit == UNITS["year"] and any(span + 1 in figure.values for span in spans if span)


def _is_a_count(figure: Figure, known: Sequence[Figure]) -> bool:
    """Recognize a small number of things or units of time that the quotes may name one by one, if they count none."""
    small = bool(figure.values) and all(value <= MOST_NAMED and value.denominator == 1 for value in figure.values)
    if dimension_of(figure) in (MINUTES, MONTHS):
        return small and not any(each.days or each.year or dimension_of(each) in (MINUTES, MONTHS) for each in known)
    counted = any(each.unit is None and not each.days and each.year is None for each in known)
    return small and figure.unit is None and not counted


def _has_no_unit_there(figure: Figure, known: Sequence[Figure], today: date) -> bool:
    """Recognize a number that the quotes give without a unit: "started with 16" for sixteen years, "120k" for euros."""
    bare, there = replace(figure, unit=None), [each for each in known if each.unit is None and not each.days]
    if figure.days:
        return False
    if figure.unit and any(is_same(replace(bare, values=figure.values), each) and not each.beside for each in there):
        return True
    if any(each.text.endswith("m") and value * 10**6 in figure.values for each in known for value in each.values):
        return True  # "3m users"
    return bool(figure.unit and one_step(bare, there[:MOST_FIGURES], today))


def _is_by_more_than_a_step(figure: Figure, known: Sequence[Figure]) -> bool:
    """Recognize a figure that needs more than one step, or an uncertain one: the excess over 100 %, an average, the
    share of a sum."""
    if dimension_of(figure) == PERCENT:
        if any(
            dimension_of(each) == PERCENT and v > 100 and v - 100 in figure.values
            for each in known
            for v in each.values
        ):
            return True
        return any(
            a > 0 and b > 0 and is_rounded(figure, a / (a + b) * 100) for *_, a, b in pairs(known[:MOST_FIGURES])
        )
    if dimension_of(figure) == TIMES and figure.rate:
        return not any(dimension_of(each) == TIMES for each in known)
    return any(
        count.unit is None and not count.days and dimension_of(each) == dimension_of(figure)
        for each, count in permutations(known[:MOST_FIGURES], 2)
        if figure.unit and any(b > 1 and a / b in figure.amounts for a in each.amounts for b in count.values)
    )
