"""Derive a statement's figure from the figures in its quotes. Each derivation is shown to the user as proof, so only
four narrow steps are allowed; anything else is left to the judge, and nothing is shown.

1. Difference or percentage: between two figures of one quantity in a quote ("from 80k to 52k"). For an increase without
   an arrow the quote must also state that it rose: "from 3 to 5 students" may be a range.
2. Period: between the two dates of one entry ("2016–2019", "Mar 2020 – present").
3. Period of consecutive entries: from the start of the first to the end of the last.
4. Sum: of one figure per quote, counting the same thing in the same words, if no quote names a time.

Approximate figures are derived only if the computed value satisfies them: "over eight years" needs eight full years.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from fractions import Fraction
from itertools import pairwise

from qwestly_agent.base.patterns import pattern
from qwestly_agent.grounding.compare_figures import dimension_of, has_words, meet
from qwestly_agent.grounding.dates import Day
from qwestly_agent.grounding.figure_words import FALLING, LEFT, OF, PART_OF, PRESENT, RELATIVE, RISING
from qwestly_agent.grounding.model import Figure
from qwestly_agent.grounding.quotes import FoundQuote
from qwestly_agent.grounding.units import MINUTES, MONTHS, PERCENT, TIMES, UNITS

MOST_ENTRIES = 12
LONGEST_GAP_MONTHS = 2
"""Longest gap between two consecutive entries."""
_BETWEEN_ENDS = pattern(r"\s*(?:→|[-=]>|to|down to|up to|auf|à|a|para|até|al?|tot|naar)\s*", re.IGNORECASE)
_FROM = pattern(r"(?<!\w)(?:from|von|de|du|del|da|dal|van)\s*(?:[€$£]|R\$)?\s*$", re.IGNORECASE)
_RANGE = pattern(r"\s*(?:[-–—→]|to|until|till|bis|à|au|a|al|hasta|até|tot)\s*", re.IGNORECASE)
_END = pattern(
    r"(?<!\w)(?:from|to|now|reached|von|auf|jetzt|de|à|actuellement|a|ahora|hasta|para|agora|até|da|tot|naar|nu)\s*"
    r"(?:[€$£]|R\$)?\s*$",
    re.IGNORECASE,
)
"""Matches before a figure that is the start or end of a change. Such a figure must be quoted; it is never derived."""
_OF_A_TIME = f"{PART_OF}|{RELATIVE}|{PRESENT}|{RISING}|{FALLING}"
"""Words that make a figure a part or the total of another, or valid at one time only."""


def describe_derivation(
    figure: Figure, text: str, found: Sequence[tuple[FoundQuote, Sequence[Figure]]], today: date
) -> str | None:
    """Describe the step that derives this figure of a statement's `text` from the figures in its quotes; None if none
    of the four applies. `today` ends periods that are still going on."""
    if figure.days or figure.year or _END.search(text, max(0, figure.start - 30), figure.start):
        return None
    steps = (_changes(figure, text, found), _spans(figure, found, today), _sums(figure, text, found))
    return next((step for each in steps for step in each), None)


def _changes(figure: Figure, text: str, found: Sequence[tuple[FoundQuote, Sequence[Figure]]]) -> Iterator[str]:
    sentence = re.split(r"[.!?;]\s|\n", text[: figure.start])[-1]
    is_down, is_up = has_words(FALLING, sentence), has_words(RISING, sentence)
    for quote, known in found:
        pairs = [pair for pair in pairwise(known) if _is_one_quantity(*pair, quote)]
        if len(pairs) != 1:
            continue
        [(one, other)] = pairs
        [before], [after] = one.amounts, other.amounts
        if not before or before == after or (is_down and after > before) or (is_up and after < before):
            continue
        shown, change = figure.text.strip(), f"{one.text.strip()} → {other.text.strip()}"
        difference = abs(after - before)
        if dimension_of(figure) == PERCENT and dimension_of(one) != PERCENT and figure.rate is None:
            if (is_down or is_up) and _is_rounded(figure, difference / before * 100):
                yield f"{change}: {'+' if after > before else '−'}{shown}"
        elif dimension_of(figure) == TIMES and figure.rate is None:
            if is_up and after > before and any(abs(each - after / before) * 20 <= each for each in figure.values):
                yield f"{change}: {shown}"
        elif (
            (is_down or is_up)
            and figure.rate == one.rate
            and _is_of_kind(figure, one)
            and (figure.unit or counted_words(figure, text) == counted_words(other, quote.source.text))
            and meet(figure.amounts, [difference])
        ):
            first, second = (one, other) if before > after else (other, one)
            yield f"{first.text.strip()} − {second.text.strip()} = {shown}"


def _is_one_quantity(one: Figure, other: Figure, quote: FoundQuote) -> bool:
    """True for "from 80k to 52k €" and "38 % → 31 %"; False for a range, or if a figure is ambiguous."""
    text = quote.source.text
    is_alike = one.unit == other.unit and one.rate == other.rate and not (one.unread or other.unread)
    is_plain = all(len(each.amounts) == 1 and not each.days and each.year is None for each in (one, other))
    between = text[one.end_in(text) : other.start]
    if not (is_alike and is_plain and _BETWEEN_ENDS.fullmatch(between)):
        return False
    if ">" in between or "→" in between:
        return True
    is_told = has_words(rf"(?!up to){RISING}|{FALLING}", quote.sentence)
    is_fall_alone = max(one.amounts) > max(other.amounts) and one.unit != UNITS["h"]  # opening hours
    return bool(_FROM.search(text, max(0, one.start - 20), one.start)) and (is_told or is_fall_alone)


def _is_of_kind(figure: Figure, known: Figure) -> bool:
    if dimension_of(known) == PERCENT:
        return dimension_of(figure) == "percentage points"
    return dimension_of(figure) == dimension_of(known)


# --- times ------------------------------------------------------------------------------------------------------------


def _spans(figure: Figure, found: Sequence[tuple[FoundQuote, Sequence[Figure]]], today: date) -> Iterator[str]:
    if figure.unit is None or figure.unit.dimension != MONTHS or figure.rate:
        return
    entries = [entry for quote, known in found for entry in _entries(quote, known, today)][:MOST_ENTRIES]
    for first, last, told in entries:
        if _lasts(figure, first, last):
            yield f"{told}: {figure.text.strip()}"
    following = sorted(entries, key=lambda entry: _months(entry[0]))
    gaps = [_months(later[0]) - _months(earlier[1]) for earlier, later in pairwise(following)]
    is_whole = all(day.month for entry in following for day in entry[:2])
    is_one_time = len(following) > 1 and is_whole and all(0 <= gap <= LONGEST_GAP_MONTHS for gap in gaps)
    if is_one_time and _lasts(figure, following[0][0], following[-1][1]):
        yield f"{'; '.join(told for *_, told in following)}: {figure.text.strip()}"


def _entries(quote: FoundQuote, known: Sequence[Figure], today: date) -> Iterator[tuple[Day, Day, str]]:
    """Yield the start and end of each period in a quote, with a description."""
    text = quote.source.text
    dated = [(each, _day(each)) for each in known if _day(each)]
    for one, first in dated:
        if one.is_span and len(one.days) == 2:  # "2016–19", "Apr – Jul 2012"
            begin, end = one.days[::-1] if one.days[0].month else one.days
            if _months(begin) < _months(end):
                yield begin, end, one.text.strip()
            continue
        behind = text[one.end_in(text) : quote.end]
        following = next((each for each in dated if each[0].start >= one.end), None)
        if following and _RANGE.fullmatch(text, one.end_in(text), following[0].start):
            if first and following[1]:
                yield first, following[1], f"{one.text.strip()} → {following[0].text.strip()}"
        elif first and (
            match := re.match(rf"\s*(?:[-–—→]|to|until|bis|à|a|hasta|até)?\s*(?P<now>{PRESENT})(?!\w)", behind, re.I)
        ):
            yield first, Day(today.year, today.month), f"{one.text.strip()} → {match['now']}"


def _day(figure: Figure) -> Day | None:
    """Return the date that the figure denotes, if it includes a year."""
    days = figure.days or ((Day(figure.year),) if figure.year else ())
    return days[0] if days and days[0].year and (figure.is_span or len(days) == 1) else None


def _months(day: Day) -> int:
    return 12 * (day.year or 0) + (day.month or 1)


def _lasts(figure: Figure, first: Day, last: Day) -> bool:
    """True if the figure equals the time between two dates, in whole years or months, as far as both are known."""
    unit = figure.unit.factor if figure.unit else Fraction(1)
    if not (first.month and last.month):
        return (
            unit == 12
            and meet(figure.amounts, {Fraction(12 * ((last.year or 0) - (first.year or 0)))})
            and first.year != last.year
        )
    months = _months(last) - _months(first)
    told = {each // 12 * 12 if unit == 12 else each for each in (months, months + 1)}  # the last month may be included
    return meet(figure.amounts, {Fraction(each) for each in told if each > 0})


# --- sums -------------------------------------------------------------------------------------------------------------


def _sums(figure: Figure, text: str, found: Sequence[tuple[FoundQuote, Sequence[Figure]]]) -> Iterator[str]:
    if dimension_of(figure) in (PERCENT, TIMES, MINUTES, MONTHS):
        return
    thing, singles = counted_words(figure, text), list[Figure]()
    for quote, known in found:
        alike = [each for each in known if dimension_of(each) == dimension_of(figure)]
        is_one = len(alike) == 1 and len(known) == 1 and not (alike[0].days or alike[0].year or alike[0].unread)
        if not is_one or len(alike[0].amounts) != 1 or alike[0].rate != figure.rate:
            return
        if counted_words(alike[0], quote.source.text) != thing or has_words(_OF_A_TIME, quote.sentence):
            return
        singles += alike
    amounts = {amount for each in singles for amount in each.amounts}
    if thing and len(singles) == len(amounts) > 1 and meet(figure.amounts, [sum(amounts, Fraction(0))]):
        yield f"{' + '.join(each.text.strip() for each in singles)} = {figure.text.strip()}"


def counted_words(figure: Figure, text: str) -> tuple[str, ...]:
    """Return what a figure counts: the first letters of up to three words after it, stopping at a short word such as
    "in" or "and"."""
    behind = re.match(r"(?:[\s-]+[^\W\d_]{4,}){0,3}", text[figure.end_in(text) :])
    return tuple(word.casefold()[:5] for word in re.findall(r"[^\W\d_]+", behind[0] if behind else ""))


def _is_rounded(figure: Figure, exact: Fraction) -> bool:
    """True if the exact number, rounded to the figure's precision, equals the figure."""
    return any(abs(value - exact) <= Fraction(1, 2 if value.denominator == 1 else 20) for value in figure.values)


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
