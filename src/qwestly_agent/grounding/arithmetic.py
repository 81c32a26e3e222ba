"""Derives a figure from known ones by one named step of arithmetic."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from fractions import Fraction
from itertools import combinations, permutations

from qwestly_agent.grounding.compare_figures import (
    SLIPS,
    days_in,
    dimension_of,
    has_one_unit,
    has_words,
    is_rounded,
    meet,
    pairs,
)
from qwestly_agent.grounding.dates import Day
from qwestly_agent.grounding.figure_words import FALLING, LEFT, OF, RISING
from qwestly_agent.grounding.model import Figure
from qwestly_agent.grounding.units import MONTHS, PERCENT, TIMES


def one_step(figure: Figure, known: Sequence[Figure], today: date) -> str | None:
    """Describe one step by which the figure follows from two known figures or from all of them; else None."""
    if figure.days:
        return None
    steps = (
        *_times_between(figure, known, today),
        *_rates(figure, known),
        *_comparisons(figure, known),
        *_sums(figure, known),
    )
    return next(iter(steps), None)


def _times_between(figure: Figure, known: Sequence[Figure], today: date) -> Iterator[str]:
    if figure.unit is None or figure.unit.dimension != MONTHS:
        return
    moments = [(each.text, day) for each in known for day in days_in(each) if day.year]
    now = ("today", Day(today.year, today.month))
    # Only the latest moment may still be going on: an earlier one has its own end.
    latest = sorted(moments, key=lambda moment: (moment[1].year or 0, moment[1].month or 12))[-1:]
    pairs = [*combinations(moments, 2), *((moment, now) for moment in latest)]
    for (one_text, one), (other_text, other) in pairs:
        if meet(figure, figure.amounts, _months_between(one, other, in_years=figure.unit.factor == 12)):
            yield f"{one_text} → {other_text}: {figure.text.strip()}"


def _rates(figure: Figure, known: Sequence[Figure]) -> Iterator[str]:
    """Convert a known rate to another period: 450 € a month are 5,400 € a year."""
    for each in known:
        if figure.rate and each.rate and figure.rate != each.rate and figure.rate.dimension == each.rate.dimension:
            ratio = figure.rate.factor / each.rate.factor
            alike = figure.unit is None or dimension_of(figure) == dimension_of(each)
            if alike and meet(figure, figure.amounts, {value * ratio for value in each.amounts}):
                sign, by = ("×", ratio) if ratio > 1 else ("÷", 1 / ratio)
                yield f"{each.text.strip()} {sign} {by} = {figure.text.strip()}"


def _months_between(one: Day, other: Day, *, in_years: bool) -> frozenset[Fraction]:
    """List the numbers of months that may lie between two dates, as far as these are known."""
    first, last = sorted((one, other), key=lambda day: (day.year or 0, day.month or 1))
    years = (last.year or 0) - (first.year or 0)
    if not (first.month and last.month):
        # If only one date has a month, as today has, the last year may be incomplete.
        shortest = years - 1 if last.month else years
        return frozenset(Fraction(12 * each) for each in (years, shortest) if each > 0)
    months = 12 * years + last.month - first.month
    around = {months - 1, months, months + 1} if not in_years else {12 * (months // 12), 12 * round(months / 12)}
    return frozenset(Fraction(each) for each in around if each > 0)


def _comparisons(figure: Figure, known: Sequence[Figure]) -> Iterator[str]:
    """Compare two known figures: change in per cent, share, or factor."""
    if figure.unit is None or figure.unit.dimension not in (PERCENT, TIMES):
        return
    if figure.rate and figure.unit.dimension == TIMES:
        return  # "three times a week"
    is_percent, shown = figure.unit.dimension == PERCENT, figure.text.strip()
    for one, other, before, after in pairs(known):
        change = f"{one.text.strip()} → {other.text.strip()}"
        is_mixed = dimension_of(one) != dimension_of(other)  # two things are no share of 10 %
        if not before or before == after or (figure.is_fall and after > before) or (figure.is_rise and after < before):
            continue
        if is_percent and is_rounded(figure, abs(after - before) / before * 100):
            yield f"{change}: {'+' if after > before else '−'}{shown}"
        elif (
            is_percent
            and after < before
            and not is_mixed
            and not figure.is_fall
            and is_rounded(figure, after / before * 100)
        ):
            yield f"{other.text.strip()} of {one.text.strip()}: {shown}"
        elif not is_percent and after > before and is_rounded(figure, after / before):
            yield f"{change}: {shown}"


def is_fall(figure: Figure, text: str) -> bool:
    """Recognize a percentage of decrease: "fell by 38 %", but not "to 38 %" or "38 % of it"."""
    return _is_change(figure, text, FALLING)


def is_rise(figure: Figure, text: str) -> bool:
    """Recognize a percentage of increase; not where its sentence also has a word of decrease."""
    return _is_change(figure, text, RISING) and not has_words(FALLING, text)


def _is_change(figure: Figure, text: str, words: str) -> bool:
    if dimension_of(figure) != PERCENT:
        return False
    sentence = re.split(r"[.!?;]\s|\n", text[: figure.start])[-1]
    left = re.search(rf"(?<!\w)(?:{LEFT})\s+$", sentence, re.IGNORECASE)
    share = re.match(rf"\s+(?:{OF})(?!\w)", text[figure.end_in(text) :], re.IGNORECASE)
    return has_words(words, sentence) and not left and not share


def _sums(figure: Figure, known: Sequence[Figure]) -> Iterator[str]:
    shown = figure.text.strip()
    for one, other, a, b in pairs(known):
        if figure.rate and figure.rate not in (one.rate, other.rate):
            continue  # the difference of two weeks is no amount a day
        if figure.unit is None and has_one_unit(one, other):
            continue  # 15 kg less 9 loads is no number
        first, second = one.text.strip(), other.text.strip()
        shares = [dimension_of(each) == PERCENT for each in (one, other)]
        if any(shares):
            like = figure.values if dimension_of(figure) in ("", "percentage points") else frozenset[Fraction]()
        else:
            like = _amounts_like(figure, one, other)
        if meet(figure, like, [a + b]) and shares[0] == shares[1]:
            yield f"{first} + {second} = {shown}"
        elif meet(figure, like, [a - b]):
            yield f"{first} − {second} = {shown}"
    for one, other in permutations(known, 2):
        if product := _product(figure, one, other):
            yield product
    alike = [each for each in known if each.values and each.year is None and dimension_of(each) == dimension_of(figure)]
    if len(alike) > 2 and meet(figure, figure.amounts, [sum((min(each.amounts) for each in alike), Fraction(0))]):
        yield f"{' + '.join(each.text.strip() for each in alike)} = {shown}"


def _amounts_like(figure: Figure, one: Figure, other: Figure) -> frozenset[Fraction]:
    """Return the figure's amounts in the unit of these two; empty if its dimension differs."""
    unit = one.unit or other.unit
    if figure.unit is None:  # "six points", "60 in all"
        return frozenset(value * (unit.factor if unit else 1) for value in figure.values)
    return figure.amounts if unit and unit.dimension == figure.unit.dimension else frozenset()


def _product(figure: Figure, one: Figure, other: Figure) -> str | None:
    """Derive a product, a percentage of a figure, a rate times a duration, or an amount per unit of time."""
    if one.rate and other.unit and one.rate.dimension == other.unit.dimension and one.year is None:
        wanted = figure.amounts if dimension_of(figure) in ("", dimension_of(one)) else frozenset[Fraction]()
        times = [amount / one.rate.factor for amount in other.amounts]
        if meet(figure, wanted, [a * b for a in one.amounts for b in times if b > 1]):
            return f"{one.text.strip()} × {other.text.strip()} = {figure.text.strip()}"
    if figure.rate and other.unit and figure.rate.dimension == other.unit.dimension and one.year is None:
        wanted = figure.amounts if dimension_of(figure) in ("", dimension_of(one)) else frozenset[Fraction]()
        times = [amount / figure.rate.factor for amount in other.amounts if amount]
        if one.unit != other.unit and meet(figure, wanted, [a / b for a in one.amounts for b in times if b > 1]):
            return f"{one.text.strip()} ÷ {other.text.strip()} = {figure.text.strip()}"
    share = one.unit is not None and one.unit.dimension == PERCENT
    if dimension_of(other) == PERCENT:
        return None
    if (
        (one.unit and not share and one.unit.dimension != TIMES)
        or one.year
        or other.year
        or not (one.values and other.values)
    ):
        return None
    for a in one.values:
        for b in other.amounts:
            total = a * b / 100 if share else a * b
            wanted = figure.values if figure.unit is None and not share else _amounts_like(figure, other, other)
            if share and meet(figure, wanted, [b + total, b - total]):
                sign = "+" if meet(figure, wanted, [b + total]) else "−"
                return f"{other.text.strip()} {sign} {one.text.strip()} = {figure.text.strip()}"
            if a > 1 and (share or SLIPS.isdisjoint((a, b))) and meet(figure, wanted, [total]):
                sign = "of" if share else "×"
                return f"{one.text.strip()} {sign} {other.text.strip()} = {figure.text.strip()}"
    return None
