"""Look 2: each exact fact of a statement stands in its quotes, or is one named step of arithmetic from them.

A figure of the statement is compared with those that its quotes hold whole, and with those of the structured fields of
their sources. What code cannot read whole on either side is left to the judge, and said.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import combinations, permutations

from qwestly_agent.grounding.dates import Day
from qwestly_agent.grounding.figures import Figure, figures
from qwestly_agent.grounding.model import Statement
from qwestly_agent.grounding.quotes import Found
from qwestly_agent.grounding.units import MONTHS, NUMBER_LANGUAGES, PERCENT, POUNDS, TIMES

MOST_FIGURES = 12
"""Of all quotes, for arithmetic: every pair of them is tried."""


MOST_NAMED = 4
"""Things that a text names one by one rather than to count them."""


@dataclass(frozen=True)
class Facts:
    missing: tuple[str, ...]
    """Sentences, one for each figure that stands nowhere."""
    arithmetic: tuple[str, ...]
    unread: tuple[str, ...]


def check_facts(statement: Statement, quotes: Sequence[Found], today: date) -> Facts:
    """`today` is where what still goes on is measured to."""
    known = list(_known(quotes))
    missing: list[str] = []
    arithmetic: list[str] = []
    unread: list[str] = []
    for figure in figures(statement.text, statement.language):
        if figure.unread:
            unread.append(figure.text.strip())
        elif any(_same(figure, each) for each in known):
            continue
        elif step := _step(figure, known[:MOST_FIGURES], today):
            arithmetic.append(step)
        elif (
            any(_may_be(figure, each) for each in known)
            or _is_a_count(figure, known)
            or _in_a_language_of_no_table(figure, known, quotes)
        ):
            unread.append(figure.text.strip())
        else:
            missing.append(f"“{figure.text.strip()}” {_where(figure, quotes)}")
    return Facts(tuple(missing), tuple(dict.fromkeys(arithmetic)), tuple(dict.fromkeys(unread)))


def _known(quotes: Sequence[Found]) -> Iterator[Figure]:
    """The figures that stand whole in the quotes, with the unit that their source gives them."""
    for found in quotes:
        for figure in figures(found.source.text, found.source.language):
            if found.start <= figure.start and figure.end <= found.end:
                yield figure
    for source in {found.source.id: found.source for found in quotes}.values():
        for value in source.fields.values():
            yield from figures(value, source.language)


def _where(figure: Figure, quotes: Sequence[Found]) -> str:
    beside = (each for found in quotes for each in figures(found.sentence, found.source.language))
    if any(_same(figure, each) for each in beside):
        return "stands beside its quotes and not in them: quote it too."
    return "stands in none of its quotes."


# --- equal ------------------------------------------------------------------------------------------------------------


def _same(figure: Figure, known: Figure) -> bool:
    if figure.days:
        days = known.days or ((Day(known.year),) if known.year else ())
        return any(told.says(day) for told in days for day in figure.days)
    if figure.rate and known.rate and figure.rate != known.rate:
        return False
    if figure.unit is None or (figure.unit.dimension == TIMES and known.unit is None):
        years = {day.year for day in known.days}
        return bool(figure.values & known.values) or (figure.year is not None and figure.year in years)
    if known.unit is None:
        return figure.unit in known.beside and bool(figure.values & known.values)
    dimensions = {known.unit.dimension, figure.unit.dimension}
    if POUNDS in dimensions and dimensions <= {POUNDS, "GBP", "mass"}:
        return bool(figure.values & known.values)
    return len(dimensions) == 1 and bool(figure.amounts & known.amounts)


def _may_be(figure: Figure, known: Figure) -> bool:
    """Whether that is a figure which code cannot read, and the judge may find to be this one."""
    one, other = figure.unit, known.unit
    derived = one is not None and one.dimension in (PERCENT, TIMES)
    return (
        known.unread
        and not figure.days
        and (one is None or other is None or derived or one.dimension == other.dimension)
    )


def _is_a_count(figure: Figure, known: Sequence[Figure]) -> bool:
    """A small number of things that the quotes may name one by one, where they count nothing."""
    counted = any(each.unit is None and not each.days and each.year is None for each in known)
    small = bool(figure.values) and all(value <= MOST_NAMED for value in figure.values)
    return small and figure.unit is None and not counted


def _in_a_language_of_no_table(figure: Figure, known: Sequence[Figure], quotes: Sequence[Found]) -> bool:
    """The unit's word may be one that no table has."""
    strange = any(found.source.language not in NUMBER_LANGUAGES for found in quotes)
    return strange and any(each.unit is None and figure.values & each.values for each in known)


# --- one step of arithmetic -------------------------------------------------------------------------------------------


def _step(figure: Figure, known: Sequence[Figure], today: date) -> str | None:
    """How it follows from two of the known figures, or from all of them, in words for a person."""
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
    moments = [(each.text, day) for each in known for day in _days(each) if day.year]
    now = ("today", Day(today.year, today.month))
    pairs = [*combinations(moments, 2), *((moment, now) for moment in moments)]
    for (one_text, one), (other_text, other) in pairs:
        if figure.amounts & _months_between(one, other, in_years=figure.unit.factor == 12):
            yield f"{one_text} → {other_text}: {figure.text.strip()}"


def _rates(figure: Figure, known: Sequence[Figure]) -> Iterator[str]:
    """The same by another time: 450 € a month are 5,400 € a year."""
    for each in known:
        if figure.rate and each.rate and figure.rate != each.rate and figure.rate.dimension == each.rate.dimension:
            ratio = figure.rate.factor / each.rate.factor
            alike = figure.unit is None or _dimension(figure) == _dimension(each)
            if alike and any(value * ratio in figure.amounts for value in each.amounts):
                sign, by = ("×", ratio) if ratio > 1 else ("÷", 1 / ratio)
                yield f"{each.text.strip()} {sign} {by} = {figure.text.strip()}"


def _days(figure: Figure) -> Sequence[Day]:
    return figure.days or ((Day(figure.year),) if figure.year else ())


def _months_between(one: Day, other: Day, *, in_years: bool) -> frozenset[Fraction]:
    """Each number of months that may lie between them, as far as they are told."""
    first, last = sorted((one, other), key=lambda day: (day.year or 0, day.month or 1))
    years = (last.year or 0) - (first.year or 0)
    if not (first.month and last.month):
        # With a month on one side alone, as today's, one year may not be over yet.
        shortest = years - 1 if last.month else years
        return frozenset(Fraction(12 * each) for each in (years, shortest) if each > 0)
    months = 12 * years + last.month - first.month
    around = {months - 1, months, months + 1} if not in_years else {12 * (months // 12), 12 * round(months / 12)}
    return frozenset(Fraction(each) for each in around if each > 0)


def _comparisons(figure: Figure, known: Sequence[Figure]) -> Iterator[str]:
    """How two of them compare: by how much per cent, which share, how many times."""
    if figure.unit is None or figure.unit.dimension not in (PERCENT, TIMES):
        return
    is_percent, shown = figure.unit.dimension == PERCENT, figure.text.strip()
    for one, other, before, after in _pairs(known):
        change = f"{one.text.strip()} → {other.text.strip()}"
        if not before or before == after:
            continue
        if is_percent and _rounded(figure, abs(after - before) / before * 100):
            yield f"{change}: {'+' if after > before else '−'}{shown}"
        elif is_percent and after < before and _rounded(figure, after / before * 100):
            yield f"{other.text.strip()} of {one.text.strip()}: {shown}"
        elif not is_percent and after > before and _rounded(figure, after / before):
            yield f"{change}: {shown}"


def _rounded(figure: Figure, exact: Fraction) -> bool:
    """Whether the figure is that number, rounded to as many places as it gives."""
    return any(abs(value - exact) <= Fraction(1, 2 if value.denominator == 1 else 20) for value in figure.values)


def _sums(figure: Figure, known: Sequence[Figure]) -> Iterator[str]:
    shown = figure.text.strip()
    for one, other, a, b in _pairs(known):
        first, second = one.text.strip(), other.text.strip()
        if PERCENT in (_dimension(one), _dimension(other)):
            like = figure.values if _dimension(figure) in ("", "percentage points") else frozenset[Fraction]()
        else:
            like = _amounts_like(figure, one, other)
        if a + b in like:
            yield f"{first} + {second} = {shown}"
        elif a - b in like:
            yield f"{first} − {second} = {shown}"
    for one, other in permutations(known, 2):
        if product := _product(figure, one, other):
            yield product
    alike = [each for each in known if each.values and each.year is None and _dimension(each) == _dimension(figure)]
    if len(alike) > 2 and sum((min(each.amounts) for each in alike), Fraction(0)) in figure.amounts:
        yield f"{' + '.join(each.text.strip() for each in alike)} = {shown}"


def _pairs(known: Sequence[Figure]) -> Iterator[tuple[Figure, Figure, Fraction, Fraction]]:
    """Two figures of one dimension, with their amounts; one without a unit is counted in that of the other."""
    for one, other in permutations(known, 2):
        unit = one.unit or other.unit
        alike = _dimension(one) == _dimension(other) or None in (one.unit, other.unit)
        if alike and one.year is None and other.year is None:
            factor = unit.factor if unit else Fraction(1)
            for a in one.amounts if one.unit else {value * factor for value in one.values}:
                for b in other.amounts if other.unit else {value * factor for value in other.values}:
                    yield one, other, a, b


def _amounts_like(figure: Figure, one: Figure, other: Figure) -> frozenset[Fraction]:
    """Of the figure, in what those two are counted in; none where it is of another dimension."""
    unit = one.unit or other.unit
    if figure.unit is None:  # "six points", "60 in all"
        return frozenset(value * (unit.factor if unit else 1) for value in figure.values)
    return figure.amounts if unit and unit.dimension == figure.unit.dimension else frozenset()


def _product(figure: Figure, one: Figure, other: Figure) -> str | None:
    """So many times so much, or so many per cent of it."""
    share = one.unit is not None and one.unit.dimension == PERCENT
    if (one.unit and not share) or one.year or other.year or not (one.values and other.values):
        return None
    for a in one.values:
        for b in other.amounts:
            total = a * b / 100 if share else a * b
            wanted = figure.values if figure.unit is None and not share else _amounts_like(figure, other, other)
            if a > 1 and total in wanted:
                sign = "of" if share else "×"
                return f"{one.text.strip()} {sign} {other.text.strip()} = {figure.text.strip()}"
    return None


def _dimension(figure: Figure) -> str:
    return figure.unit.dimension if figure.unit else ""
