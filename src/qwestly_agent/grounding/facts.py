"""Look 2: each exact fact of a statement stands in its quotes, or is one named step of arithmetic from them.

A figure of the statement is compared with those that its quotes hold whole, and with those of the structured fields of
their sources. What code cannot read whole on either side is left to the judge, and said; so is what words of the quotes
may say without a figure, what is near a known figure, and what takes more than one step.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import combinations, permutations
from math import gcd

from qwestly_agent.grounding.dates import Day
from qwestly_agent.grounding.figures import Figure, figures
from qwestly_agent.grounding.model import Statement
from qwestly_agent.grounding.quotes import FoundQuote
from qwestly_agent.grounding.units import (
    FALLING,
    IMPLIED,
    LEFT,
    MINUTES,
    MONTHS,
    MONTHS_BY_NAME,
    OF,
    OTHERS,
    PERCENT,
    POUNDS,
    RELATIVE,
    TIMES,
    UNITS,
    Unit,
    key,
)

MOST_FIGURES = 12
"""Of all quotes, for arithmetic: every pair of them is tried."""


MOST_NAMED = 4
"""Things that a text names one by one rather than to count them."""
MOST_LISTED = 10
"""Things that a text lists with commas."""
MOST_AGE = 100
SLIPS = frozenset(map(Fraction, (10, 100, 1000)))
"""Times so much is what a slipped zero makes of a number: no step of arithmetic, and for the judge."""
CALENDAR = frozenset(map(Fraction, (4, 5, 7, 12, 24, 30, 52, 60, 365)))
"""How many of one time another one has: weeks of a month, working days of a week, months of a year."""


@dataclass(frozen=True)
class Facts:
    missing: tuple[str, ...]
    """Sentences, one for each figure that stands nowhere."""
    arithmetic: tuple[str, ...]
    unread: tuple[str, ...]


def check_facts(statement: Statement, quotes: Sequence[FoundQuote], today: date) -> Facts:
    """`today` is where what still goes on is measured to."""
    stated = figures(statement.text, statement.language)
    known = list(_known(quotes))
    if pound := _pound([*stated, *known]):
        stated, known = _with_pound(stated, pound), _with_pound(known, pound)
    missing: list[str] = []
    arithmetic: list[str] = []
    unread: list[str] = []
    for figure in stated:
        exact = replace(figure, leeway=Fraction(0), is_fall=_is_fall(figure, statement.text))
        if figure.unread:
            unread.append(figure.text.strip())
        elif any(_same(exact, each) for each in known):
            continue
        elif step := _step(exact, known[:MOST_FIGURES], today):
            arithmetic.append(step)
        elif (
            any(_may_be(exact, each) for each in known)
            or _is_about(replace(exact, leeway=figure.leeway), known, today)
            or _is_a_short_year(exact, known)
            or _is_a_count(exact, known)
            or _is_implied(exact, quotes)
            or _is_a_share(exact, known)
            or _is_by_another_time(exact, known)
            or _is_placed_by_another(exact, known, quotes, today)
            or _has_no_unit_there(exact, known, today)
            or _is_by_more_than_a_step(exact, known)
        ):
            unread.append(figure.text.strip())
        else:
            missing.append(f"“{figure.text.strip()}” {_where(figure, quotes)}")
    return Facts(tuple(missing), tuple(dict.fromkeys(arithmetic)), tuple(dict.fromkeys(unread)))


def _known(quotes: Sequence[FoundQuote]) -> Iterator[Figure]:
    """The figures that stand whole in the quotes, with the unit that their source gives them."""
    for found in quotes:
        for figure in figures(found.source.text, found.source.language):
            if found.start <= figure.start and figure.end <= found.end:
                yield figure
    for source in {found.source.id: found.source for found in quotes}.values():
        for value in source.fields.values():
            yield from figures(value, source.language)


def _where(figure: Figure, quotes: Sequence[FoundQuote]) -> str:
    beside = (each for found in quotes for each in figures(found.sentence, found.source.language))
    if any(_same(figure, each) for each in beside):
        return "stands beside its quotes and not in them: quote it too."
    return "stands in none of its quotes."


def _pound(found: Sequence[Figure]) -> Unit | None:
    """Tell from the other figures whether a pound is money or a weight; None where they do not show it."""
    dimensions = {_dimension(each) for each in found}
    if "GBP" in dimensions:
        return None if "mass" in dimensions else UNITS["gbp"]
    return UNITS["lb"] if "mass" in dimensions else None


def _with_pound(found: Sequence[Figure], pound: Unit) -> list[Figure]:
    return [replace(each, unit=pound) if _dimension(each) == POUNDS else each for each in found]


# --- equal ------------------------------------------------------------------------------------------------------------


def _same(figure: Figure, known: Figure) -> bool:
    if figure.days:
        days = known.days or ((Day(known.year),) if known.year else ())
        return any(told.says(day) for told in days for day in figure.days)
    bare = known.rate is None and known.unit is None and figure.unit  # "90 kilos a week, now 27"
    if figure.rate and figure.rate != known.rate and not bare:
        return False
    if figure.unit is None and _dimension(known) == PERCENT:
        return False
    if figure.unit is None or (figure.unit.dimension == TIMES and known.unit is None):
        years = {day.year for day in known.days}
        return _meet(figure, figure.values, known.values) or (figure.year is not None and figure.year in years)
    if known.unit is None:
        return figure.unit in known.beside and _meet(figure, figure.values, known.values)
    dimensions = {known.unit.dimension, figure.unit.dimension}
    if POUNDS in dimensions and dimensions <= {POUNDS, "GBP", "mass"}:
        return _meet(figure, figure.values, known.values)
    return len(dimensions) == 1 and _meet(figure, figure.amounts, known.amounts)


def _meet(figure: Figure, mine: Iterable[Fraction], theirs: Iterable[Fraction]) -> bool:
    """Tell whether two of them are equal, within the figure's leeway."""
    if not figure.leeway:
        return not frozenset(mine).isdisjoint(theirs)
    return any(abs(one - other) <= figure.leeway * abs(other) for one in mine for other in theirs)


# --- left to the judge ------------------------------------------------------------------------------------------------


def _may_be(figure: Figure, known: Figure) -> bool:
    """Tell whether that is a figure which code cannot read, and the judge may find to be this one."""
    one, other = figure.unit, known.unit
    if one is None and _dimension(known) == PERCENT and figure.values & known.values:
        return True  # "by 30" for "by 30 %", or thirty of something else
    derived = one is not None and one.dimension in (PERCENT, TIMES)
    return (
        known.unread
        and not figure.days
        and (one is None or other is None or derived or one.dimension == other.dimension)
    )


def _is_about(figure: Figure, known: Sequence[Figure], today: date) -> bool:
    """Tell whether it is near a known one: as near as its words say, or as a number that is rounded like it may be."""
    if figure.days or (figure.year and figure.text.strip().isdigit()):
        return False
    if figure.leeway and (any(_same(figure, each) for each in known) or _step(figure, known[:MOST_FIGURES], today)):
        return True
    rounded = replace(figure, leeway=max((_rounding(value) for value in figure.values), default=Fraction(0)))
    return bool(rounded.leeway) and any(_same(rounded, each) for each in known)


def _rounding(value: Fraction) -> Fraction:
    """The share by which another number may differ that is rounded to this one's places; at least two are told."""
    places = next((i for i in range(7) if (value * 10**i).denominator == 1), None)
    if not value or places is None:
        return Fraction(0)
    written = str((value * 10**places).numerator)
    digits = written.rstrip("0")
    return Fraction(10 ** (len(written) - len(digits)), 2 * 10**places) / value if len(digits) > 1 else Fraction(0)


def _is_a_short_year(figure: Figure, known: Sequence[Figure]) -> bool:
    """A year of which two bare digits stand there: "15-18 at Bosch", "2015 to 18", "summer 17"."""
    years = {figure.year, *(day.year for day in figure.days)} - {None}
    bare = {value for each in known if each.unit is None for value in each.values}
    return any(Fraction((year or 0) % 100) in bare for year in years)


def _is_implied(figure: Figure, quotes: Sequence[FoundQuote]) -> bool:
    """A small number that a word of the quotes may say ("both", "with two others", "a year"), or a list of them."""
    text = "\n".join(found.text for found in quotes)
    ones = (UNITS[key(match["unit"])] for match in _ONE.finditer(text))
    if any(one.dimension == _dimension(figure) and one.factor in figure.amounts for one in ones):
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
    is_time = _dimension(figure) in (MINUTES, MONTHS)
    sayable = value in IMPLIED and (counted or value > MOST_NAMED or (value == 1 and is_time))
    if sayable and _says(IMPLIED[int(value)], text):
        return True
    if not counted:
        return False
    others = {each for found in quotes for each in figures(found.text, found.source.language) if each.unit is None}
    if _says(OTHERS, text) and any(value - 1 in each.values for each in others):
        return True
    return any(len(_LISTED.findall(line)) + 1 == value > 1 for line in re.split(r"[.!?;:]\s|\n", text))


def _is_a_share(figure: Figure, known: Sequence[Figure]) -> bool:
    """ "One in five" for 20 % or for 10 of 50, and the other way round."""
    for each in known:
        percent, count = (figure, each) if _dimension(figure) == PERCENT else (each, figure)
        if _dimension(percent) == PERCENT and count.unit is None:
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
    if any(a * b in figure.values for *_, a, b in _pairs(counts[:MOST_FIGURES]) if a in SLIPS):
        return True
    return figure.unit is None and any(
        1 < value <= MOST_LISTED and 0 < a < b and value in (Fraction(a, b).numerator, Fraction(a, b).denominator)
        for value in figure.values
        for *_, a, b in _pairs(counts[:MOST_FIGURES])
    )


def _is_by_another_time(figure: Figure, known: Sequence[Figure]) -> bool:
    """So much in another time than the quotes', where not both say which; and an hour that does not say which half."""
    for each in known:
        ratios = {max(a / b, b / a) for a in figure.amounts for b in each.amounts if a and b}
        if (
            _dimension(each) == _dimension(figure)
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


_CLOCK = re.compile(r"\d\s?(?::\d|[ap]\.?m\b|uhr\b)|\dh\b|\d\s?h\s?\d", re.IGNORECASE)
_ONE = re.compile(
    rf"(?<!\w)(?:an?|one|ein\w{{0,2}}|une?|un[ao]|uma?|een)\s(?P<unit>{'|'.join(map(re.escape, UNITS))})(?!\w)",
    re.IGNORECASE,
)
_LISTED = re.compile(r",?\s(?:and|und|et|y|e|en|or|oder|ou|o)\s|,\s|\s[&+/]\s")


def _says(words: str, text: str) -> bool:
    return bool(re.search(rf"(?<!\w)(?:{words})(?!\w)", text, re.IGNORECASE))


def _is_placed_by_another(figure: Figure, known: Sequence[Figure], quotes: Sequence[FoundQuote], today: date) -> bool:
    """A time that follows from another one and words of the quotes: a year later, last summer, born in 1990."""
    years = {day.year for each in known for day in _days(each) if day.year}
    text = "\n".join(found.text for found in quotes)
    if figure.days or figure.year:
        month = next((day.month for day in figure.days if day.month), None)
        if month and not any(day.year for day in figure.days):  # "in March": refused where another month is told
            told = {number for word in re.findall(r"[^\W\d_]+", text) if (number := MONTHS_BY_NAME.get(word.lower()))}
            if any(day.day for day in figure.days):
                return not any(day.day for each in known for day in each.days)
            return month in told or not any(day.month for each in known for day in each.days)
        mine = {day.year for day in _days(figure) if day.year}
        if not mine and not years:  # a decade, where no year is told
            return True
        lasting = {abs(value) for each in known if _dimension(each) == MONTHS for value in each.values}
        if any(abs(one - other) in lasting for one in mine for other in years | {today.year}):
            return True
        return _says(RELATIVE, text) and any(abs(one - other) <= 1 for one in mine for other in years | {today.year})
    spans = {abs(one - other) for one in years for other in years | {today.year}}
    if figure.unit is None:
        return any(value in (span, span + 1) for value in figure.values for span in spans if 0 < span < MOST_AGE)
    return figure.unit == UNITS["year"] and any(span + 1 in figure.values for span in spans if span)


def _is_a_count(figure: Figure, known: Sequence[Figure]) -> bool:
    """A small number of things, or of hours to years, that the quotes may name one by one, where they count none."""
    small = bool(figure.values) and all(value <= MOST_NAMED and value.denominator == 1 for value in figure.values)
    if _dimension(figure) in (MINUTES, MONTHS):
        return small and not any(each.days or each.year or _dimension(each) in (MINUTES, MONTHS) for each in known)
    counted = any(each.unit is None and not each.days and each.year is None for each in known)
    return small and figure.unit is None and not counted


def _has_no_unit_there(figure: Figure, known: Sequence[Figure], today: date) -> bool:
    """Its number stands there with no unit of a table: "started with 16" for sixteen years, "120k" for euros."""
    bare, there = replace(figure, unit=None), [each for each in known if each.unit is None and not each.days]
    if figure.days:
        return False
    if figure.unit and any(_same(replace(bare, values=figure.values), each) and not each.beside for each in there):
        return True
    if any(each.text.endswith("m") and value * 10**6 in figure.values for each in known for value in each.values):
        return True  # "3m users"
    return bool(figure.unit and _step(bare, there[:MOST_FIGURES], today))


def _is_by_more_than_a_step(figure: Figure, known: Sequence[Figure]) -> bool:
    """Tell whether the figure follows by more than one step, or by a bold one: the rest of a hundred, so much in each,
    the share of a sum."""
    if _dimension(figure) == PERCENT:
        if any(
            _dimension(each) == PERCENT and v > 100 and v - 100 in figure.values for each in known for v in each.values
        ):
            return True
        return any(a > 0 and b > 0 and _rounded(figure, a / (a + b) * 100) for *_, a, b in _pairs(known[:MOST_FIGURES]))
    if _dimension(figure) == TIMES and figure.rate:
        return not any(_dimension(each) == TIMES for each in known)
    return any(
        count.unit is None and not count.days and _dimension(each) == _dimension(figure)
        for each, count in permutations(known[:MOST_FIGURES], 2)
        if figure.unit and any(b > 1 and a / b in figure.amounts for a in each.amounts for b in count.values)
    )


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
    # What goes on began last: an earlier moment has an end of its own.
    latest = sorted(moments, key=lambda moment: (moment[1].year or 0, moment[1].month or 12))[-1:]
    pairs = [*combinations(moments, 2), *((moment, now) for moment in latest)]
    for (one_text, one), (other_text, other) in pairs:
        if _meet(figure, figure.amounts, _months_between(one, other, in_years=figure.unit.factor == 12)):
            yield f"{one_text} → {other_text}: {figure.text.strip()}"


def _rates(figure: Figure, known: Sequence[Figure]) -> Iterator[str]:
    """The same by another time: 450 € a month are 5,400 € a year."""
    for each in known:
        if figure.rate and each.rate and figure.rate != each.rate and figure.rate.dimension == each.rate.dimension:
            ratio = figure.rate.factor / each.rate.factor
            alike = figure.unit is None or _dimension(figure) == _dimension(each)
            if alike and _meet(figure, figure.amounts, {value * ratio for value in each.amounts}):
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
        elif is_percent and after < before and not figure.is_fall and _rounded(figure, after / before * 100):
            yield f"{other.text.strip()} of {one.text.strip()}: {shown}"
        elif not is_percent and after > before and _rounded(figure, after / before):
            yield f"{change}: {shown}"


def _rounded(figure: Figure, exact: Fraction) -> bool:
    """Tell whether the figure is that number, rounded to as many places as it gives."""
    return any(
        abs(value - exact) <= max(Fraction(1, 2 if value.denominator == 1 else 20), figure.leeway * exact)
        for value in figure.values
    )


def _is_fall(figure: Figure, text: str) -> bool:
    """Tell whether the words of a percentage say that it went: "fell by 38 %", and not "to 38 %" or "38 % of it"."""
    if _dimension(figure) != PERCENT:
        return False
    sentence = re.split(r"[.!?;]\s|\n", text[: figure.start])[-1]
    left = re.search(rf"(?<!\w)(?:{LEFT})\s+$", sentence, re.IGNORECASE)
    share = re.match(rf"\s+(?:{OF})(?!\w)", text[figure.start + len(figure.text) :], re.IGNORECASE)
    return _says(FALLING, sentence) and not left and not share


def _sums(figure: Figure, known: Sequence[Figure]) -> Iterator[str]:
    shown = figure.text.strip()
    for one, other, a, b in _pairs(known):
        first, second = one.text.strip(), other.text.strip()
        if PERCENT in (_dimension(one), _dimension(other)):
            like = figure.values if _dimension(figure) in ("", "percentage points") else frozenset[Fraction]()
        else:
            like = _amounts_like(figure, one, other)
        if _meet(figure, like, [a + b]):
            yield f"{first} + {second} = {shown}"
        elif _meet(figure, like, [a - b]):
            yield f"{first} − {second} = {shown}"
    for one, other in permutations(known, 2):
        if product := _product(figure, one, other):
            yield product
    alike = [each for each in known if each.values and each.year is None and _dimension(each) == _dimension(figure)]
    if len(alike) > 2 and _meet(figure, figure.amounts, [sum((min(each.amounts) for each in alike), Fraction(0))]):
        yield f"{' + '.join(each.text.strip() for each in alike)} = {shown}"


def _pairs(known: Sequence[Figure]) -> Iterator[tuple[Figure, Figure, Fraction, Fraction]]:
    """Two figures of one dimension, with their amounts; one without a unit is counted in that of the other."""
    for one, other in permutations(known, 2):
        unit = one.unit or other.unit
        dimensions = {_dimension(one), _dimension(other)}
        # "From 38 % to 31", and no count beside a percentage.
        shares = PERCENT not in dimensions or max((*one.values, *other.values), default=0) <= 100
        alike = len(dimensions) == 1 or ("" in dimensions and shares)
        if alike and one.year is None and other.year is None:
            factor = unit.factor if unit else Fraction(1)
            for a in one.amounts if one.unit else {value * factor for value in one.values}:
                for b in other.amounts if other.unit else {value * factor for value in other.values}:
                    yield one, other, a, b


def _amounts_like(figure: Figure, one: Figure, other: Figure) -> frozenset[Fraction]:
    """The amounts of the figure, in the unit of those two; none where it is of another dimension."""
    unit = one.unit or other.unit
    if figure.unit is None:  # "six points", "60 in all"
        return frozenset(value * (unit.factor if unit else 1) for value in figure.values)
    return figure.amounts if unit and unit.dimension == figure.unit.dimension else frozenset()


def _product(figure: Figure, one: Figure, other: Figure) -> str | None:
    """So many times so much, so many per cent of it, or what comes together in so long a time; or so much in each."""
    if one.rate and other.unit and one.rate.dimension == other.unit.dimension and one.year is None:
        wanted = figure.amounts if _dimension(figure) in ("", _dimension(one)) else frozenset[Fraction]()
        times = [amount / one.rate.factor for amount in other.amounts]
        if _meet(figure, wanted, [a * b for a in one.amounts for b in times if b > 1]):
            return f"{one.text.strip()} × {other.text.strip()} = {figure.text.strip()}"
    if figure.rate and other.unit and figure.rate.dimension == other.unit.dimension and one.year is None:
        wanted = figure.amounts if _dimension(figure) in ("", _dimension(one)) else frozenset[Fraction]()
        times = [amount / figure.rate.factor for amount in other.amounts if amount]
        if one.unit != other.unit and _meet(figure, wanted, [a / b for a in one.amounts for b in times if b > 1]):
            return f"{one.text.strip()} ÷ {other.text.strip()} = {figure.text.strip()}"
    share = one.unit is not None and one.unit.dimension == PERCENT
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
            if a > 1 and (share or SLIPS.isdisjoint((a, b))) and _meet(figure, wanted, [total]):
                sign = "of" if share else "×"
                return f"{one.text.strip()} {sign} {other.text.strip()} = {figure.text.strip()}"
    return None


def _dimension(figure: Figure) -> str:
    return figure.unit.dimension if figure.unit else ""
