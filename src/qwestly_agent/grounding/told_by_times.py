"""Recognize dates and times that the quotes may tell by others, so that the judge decides: the hour by words, a year by
the one before, the days of a week by its first and its last.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import permutations

from qwestly_agent.base.patterns import pattern
from qwestly_agent.grounding.arithmetic import one_step
from qwestly_agent.grounding.compare_figures import MOST_FIGURES, days_in, dimension_of, has_words, is_same, kind_of
from qwestly_agent.grounding.digits import HOURS_OF_A_DAY
from qwestly_agent.grounding.figure_words import MONTHS_BY_NAME, RELATIVE, SINCE
from qwestly_agent.grounding.model import Figure
from qwestly_agent.grounding.quotes import FoundQuote
from qwestly_agent.grounding.units import MINUTES, MONTHS, UNITS

MOST_AGE = 100
CALENDAR = frozenset(map(Fraction, (4, 5, 7, 12, 24, 30, 52, 60, 365)))
"""Ratios of units of time: weeks of a month, working days of a week, months of a year."""
_WEEKDAY = (
    r"(?:mon|tue|wed|thu|fri|sat|sun|mo|di|mi|do|fr|sa|so|lun|mar|mer|jeu|ven|sam|dim|mi[ée]|jue|vie|s[áa]b|dom"
    r"|seg|ter|qua|qui|sex)[\w-]*\.?"
)
_WEEKDAYS = pattern(
    rf"(?<!\w){_WEEKDAY}\s?(?:[-–/]|to|through|till|until|bis|à|au|al?|até)\s?{_WEEKDAY}(?!\w)", re.IGNORECASE
)
"""From one to another: words like "do" and "mi" begin much else."""
_CLOCK = pattern(r"\d\s?(?::\d|[ap]\.?m\b|uhr\b)|\dh\b|\d\s?h\s?\d", re.IGNORECASE)
_DOTTED_CLOCK = pattern(r"([01]?\d|2[0-3])\.([0-5]\d)")


def is_told_by_another_time(figure: Figure, known: Sequence[Figure], quotes: Sequence[FoundQuote], today: date) -> bool:
    """Check if other dates and times of the quotes may tell this one."""
    return (
        _is_by_another_time(figure, known, today)
        or _is_told_by_hours(figure, known)
        or _is_told_by_weekdays(figure, quotes)
        or _is_of_this_year(figure, quotes, today)
        or _is_placed_by_another(figure, known, quotes, today)
        or _is_still_going_on(figure, known, quotes, today)
    )


def _is_by_another_time(figure: Figure, known: Sequence[Figure], today: date) -> bool:
    """Recognize a rate whose period only one side names, and an hour without a.m. or p.m."""
    if figure.rate and not any(each.rate for each in known):  # "a season"
        summed = one_step(replace(figure, rate=None), known[:MOST_FIGURES], today)
        if summed or any(is_same(replace(figure, rate=None), each) for each in known):
            return True
    for each in known:
        ratios = {max(a / b, b / a) for a in figure.amounts for b in each.amounts if a and b}
        if (
            dimension_of(each) == dimension_of(figure)
            and bool(each.rate) != bool(figure.rate)
            and ratios & (CALENDAR | {1})
        ):
            return True
        dotted = figure.unit is None and _is_whole(figure) and _DOTTED_CLOCK.fullmatch(each.text.strip())
        if (dotted or _CLOCK.search(each.text)) and (figure.unit is None or _CLOCK.search(figure.text)):
            mine = figure.amounts if figure.unit else {value * 60 for value in figure.values}
            told = {Fraction(60 * int(dotted[1]) + int(dotted[2]))} if dotted else each.amounts
            leeway = 0 if figure.unit else 60  # "half past six", "halb sieben"
            if any(abs(b - a - half) <= leeway for a in mine for b in told for half in (-720, 0, 720)):
                return True
    return False


def _is_whole(figure: Figure) -> bool:
    return all(value.denominator == 1 for value in figure.values)


def _is_told_by_hours(figure: Figure, known: Sequence[Figure]) -> bool:
    """Recognize "8:30" of "eight-thirty", and the hours from four in the morning to two in the afternoon."""
    if dimension_of(figure) != MINUTES:
        return False
    hours = [value for each in known if each.unit is None for value in each.values if 0 < value <= HOURS_OF_A_DAY]
    told = {amount // 60 % 12 for amount in figure.amounts} if _CLOCK.search(figure.text) else set[Fraction]()
    if any(hour % 12 in told for hour in hours):
        return True
    return any((b - a) % 12 * 60 in figure.amounts for a, b in permutations(hours, 2) if a != b)


def _is_told_by_weekdays(figure: Figure, quotes: Sequence[FoundQuote]) -> bool:
    """Recognize "six days a week" of "mon to sat"."""
    return figure.unit == UNITS["day"] and any(_WEEKDAYS.search(found.text) for found in quotes)


def _is_of_this_year(figure: Figure, quotes: Sequence[FoundQuote], today: date) -> bool:
    """Recognize "14 September 2026" of "on 14 Sept.", said in 2026."""
    for day in figure.days:
        if day.month and day.year and abs(day.year - today.year) <= 1:
            months = [name for name, number in MONTHS_BY_NAME.items() if number == day.month]
            before = rf"(?<!\d)0?{day.day}(?:\.|st|nd|rd|th|er|º)?\s(?:of\s|de\s)?" if day.day else ""
            told = rf"{before}(?<!\w)(?:{'|'.join(map(re.escape, months))})(?![^\W\d_])(?!.{{0,4}}\d)"
            if any(re.search(told, found.text, re.IGNORECASE) for found in quotes):
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
        if month and mine & years:  # "2. Hj. 2027", "January of two thousand five"
            months = {day.month for each in known for day in each.days if day.month}
            if month in months or (not months and any(kind_of(each) == "count" for each in known)):
                return True
        if not mine and not years:  # a decade, if the quotes name no year
            return True
        lasting = {abs(value) for each in known if dimension_of(each) == MONTHS for value in each.values}
        if any(abs(one - other) in lasting for one in mine for other in years | {today.year}):
            return True
        return has_words(RELATIVE, text) and any(
            abs(one - other) <= 1 for one in mine for other in years | {today.year}
        )
    if dimension_of(figure) == MONTHS:  # "May to October": six months, or five
        months = {number for word in re.findall(r"[^\W\d_]+", text) if (number := MONTHS_BY_NAME.get(word.lower()))}
        if any((b - a) % 12 + more in figure.amounts for a in months for b in months - {a} for more in (0, 1)):
            return True
    spans = {abs(one - other) for one in years for other in years | {today.year}}
    if figure.unit == UNITS["year"] and has_words(RELATIVE, text):  # "I turn 60 next year": 59
        bare = {value for each in known if each.unit in (None, UNITS["year"]) for value in each.values}
        if any(abs(value - other) == 1 for value in figure.values for other in bare):
            return True
    if figure.unit is None:
        return any(value in (span, span + 1) for value in figure.values for span in spans if 0 < span < MOST_AGE)
    return figure.unit == UNITS["year"] and any(span + 1 in figure.values for span in spans if span)


def _is_still_going_on(figure: Figure, known: Sequence[Figure], quotes: Sequence[FoundQuote], today: date) -> bool:
    """Recognize the time since any moment that the quotes name, if they say of one that it goes on."""
    if dimension_of(figure) != MONTHS or not any(has_words(SINCE, found.text) for found in quotes):
        return False
    return any(bool(one_step(figure, [each], today)) for each in known if days_in(each))
