"""Recognize figures that follow from the quotes by more than one step, or by an uncertain one: the judge decides."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from math import gcd

from qwestly_agent.grounding.compare_figures import (
    MOST_FIGURES,
    SLIPS,
    dimension_of,
    has_one_unit,
    has_words,
    is_rounded,
    pairs,
)
from qwestly_agent.grounding.figure_words import REST
from qwestly_agent.grounding.model import Figure
from qwestly_agent.grounding.units import PERCENT, TIMES

MOST_LISTED = 10
"""Largest number of things that a text lists with commas, or tells parts of: "9 in 10"."""
MOST_PARTS = 4
ABOUT = Fraction(1, 50)
"""The relative difference of a product from what is told as about it."""
SMALLEST = 21
"""Smaller numbers are sums and differences of others by chance."""
MULTIPLES = frozenset(map(Fraction, ("1/4", "1/3", "1/2", "2", "3", "4")))
"""What words like "half" and "tripled" may make of an amount."""


def is_a_share(figure: Figure, known: Sequence[Figure]) -> bool:
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
    if (
        figure.unit is None
        and any(  # "9 in 10" of 60
            value * whole == total * part
            for value in figure.values
            for *_, part, whole in pairs(counts[:MOST_FIGURES])
            if 0 < part < whole <= MOST_LISTED
            for each in counts
            for total in each.values
            if total > whole
        )
    ):
        return True
    return figure.unit is None and any(
        1 < value <= MOST_LISTED and 0 < a < b and value in (Fraction(a, b).numerator, Fraction(a, b).denominator)
        for value in figure.values
        for *_, a, b in pairs(counts[:MOST_FIGURES])
    )


def is_by_more_than_a_step(figure: Figure, known: Sequence[Figure]) -> bool:
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
    if figure.unit is None and any(
        value in figure.values
        for one, other in permutations(known[:MOST_FIGURES], 2)
        if has_one_unit(one, other)
        for a in one.values
        for b in other.values
        for value in (a + b, a - b)
    ):
        return True  # "26 hours, 3 of them for ...": 23
    if dimension_of(figure) == TIMES and figure.rate:
        return not any(dimension_of(each) == TIMES for each in known)
    if any(each.unread and dimension_of(each) == TIMES for each in known):  # "and they paid half of it"
        times = {a / b for each in known for a in each.amounts for b in figure.amounts if _alike(each, figure) and b}
        if times & MULTIPLES:
            return True
    if any(  # "35p a mile" and "140 miles"
        dimension_of(one) == dimension_of(figure) != ""
        and other.unit
        and not _alike(one, other)
        and any(a * b in figure.amounts for a in one.amounts for b in other.values)
        for one, other in permutations(known[:MOST_FIGURES], 2)
    ):
        return True
    return any(
        count.unit is None and not count.days and count.year is None and _alike(each, figure) and each.year is None
        for each, count in permutations(known[:MOST_FIGURES], 2)
        if any(b > 1 and a / b in figure.amounts for a in each.amounts for b in count.values)
    )


def is_a_rest(figure: Figure, known: Sequence[Figure], text: str) -> bool:
    """Recognize what some figures leave of a hundred per cent or of another one, where the text speaks of a rest."""
    if not has_words(REST, text):
        return False
    alike = [each for each in known if _alike(each, figure) and not each.days and each.year is None][:MOST_LISTED]
    wholes = [Fraction(100)] if dimension_of(figure) == PERCENT else [v for each in alike for v in each.amounts]
    parts = [min(each.amounts) for each in alike if each.amounts]
    return any(
        whole - sum(some) in figure.amounts
        for count in range(1, MOST_PARTS + 1)
        for some in combinations(parts, count)
        for whole in wholes
    )


def is_a_sum_of_some(figure: Figure, known: Sequence[Figure]) -> bool:
    """Recognize the sum of three figures or more of the same dimension, beside others that do not belong to it."""
    alike = [each for each in known if _alike(each, figure) and not each.days and each.year is None][:MOST_LISTED]
    parts = [min(each.amounts) for each in alike if each.amounts]
    return any(value >= SMALLEST for value in figure.values) and any(
        sum(some) in figure.amounts for count in range(3, MOST_PARTS + 1) for some in combinations(parts, count)
    )


def is_by_numbers_alone(figure: Figure, known: Sequence[Figure]) -> bool:
    """Recognize one step between two numbers whatever their units, which may be missing or misread; up to a factor of
    ten for a product and a quotient (a price in cents)."""
    counts = [each for each in known if not each.days and each.year is None][:MOST_FIGURES]
    rates = {each.rate for each in counts} - {None}
    if figure.rate and rates and figure.rate not in rates:
        return False  # "280 litres a day" of 1,100 and 820 a week
    for one, other in permutations(counts, 2):
        if PERCENT in (dimension_of(one), dimension_of(other)):
            continue
        for a in one.values:
            for b in other.values:
                if any(value >= SMALLEST and value in (a + b, a - b) for value in figure.values):
                    return True
                if b > 1 and any(_digits(value) in (_digits(a * b), _digits(a / b)) for value in figure.values):
                    return True
                if figure.leeway and _is_about(figure, (a * b, a / b if b else a, a * b / 100)):
                    return True
    return False


def _is_about(figure: Figure, exact: Iterable[Fraction]) -> bool:
    return any(abs(value - each) <= ABOUT * each for value in figure.values for each in exact)


def _digits(number: Fraction) -> str:
    """Return the digits of a number without the zeros at its ends; empty if it has less than two or does not end."""
    scaled = number * 10**6
    digits = str(scaled.numerator).strip("0") if scaled.denominator == 1 else ""
    return digits if len(digits) > 1 else str(number)


def _alike(one: Figure, other: Figure) -> bool:
    return dimension_of(one) == dimension_of(other)
