"""Step 2: compare the figures of a statement with those of its quotes.

Dates are figures too. A figure is found if the quotes, or the fields of their sources, contain it
(`compare_figures.py`; dates by `Day.says`, weekdays and seasons in `calendar_words.py`). Every other figure is marked,
unless the quotes contain exactly one figure, of the same dimension and unit, that differs: then the statement is
refused. Names that the quotes lack are marked too. The judge decides on marks, and readers see them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from qwestly_agent.base.patterns import pattern
from qwestly_agent.grounding.calendar_words import calendar_words
from qwestly_agent.grounding.compare_figures import (
    counted_words,
    days_in,
    dimension_of,
    has_words,
    is_fall,
    is_rise,
    is_same,
)
from qwestly_agent.grounding.dates import Day
from qwestly_agent.grounding.figure_words import OTHERS, RELATIVE, SMALL
from qwestly_agent.grounding.figures import figures
from qwestly_agent.grounding.model import Figure, Statement
from qwestly_agent.grounding.quotes import FoundQuote
from qwestly_agent.grounding.units import MINUTES, MONTHS, PERCENT, POUNDS, UNITS, Unit

MOST_NAMES = 8
_SMALL = pattern(rf"(?i)(?<!\w)(?:{SMALL})(?!\w)")


@dataclass(frozen=True)
class Facts:
    missing: tuple[str, ...]
    """A sentence for each figure that contradicts the quotes."""
    unread: tuple[str, ...]
    """Figures, as written, that are not literally in the quotes and are left to the judge."""


def check_facts(statement: Statement, quotes: Sequence[FoundQuote]) -> Facts:
    """Check the figures of a statement."""
    stated, inside = figures(statement.text, statement.language), [(found, _inside(found)) for found in quotes]
    known = [*(each for _, some in inside for each in some), *_in_fields(quotes)]
    if pound := _pound([*stated, *known]):
        stated, known = _with_pound(stated, pound), _with_pound(known, pound)
        inside = [(found, _with_pound(some, pound)) for found, some in inside]
    missing, unread = list[str](), list[str]()
    quoted = "\n".join(found.text for found in quotes)
    for figure in [end for each in stated for end in _ends(each)]:
        is_down, is_up = is_fall(figure, statement.text), is_rise(figure, statement.text)
        directed = replace(figure, is_fall=is_down, is_rise=is_up)
        shown = figure.text.strip()
        same = [] if figure.unread else [each for each in known if is_same(directed, each)]
        if same and not _may_be_what_was_left(directed, same, known):
            continue
        if not same and not figure.unread and _is_contradicted(directed, statement.text, inside, known):
            missing.append(f"“{shown}” {_where(figure, quotes)}")
            continue
        if not (figure.unread and has_words(re.escape(shown), quoted)):
            unread.append(shown)
    for match in _SMALL.finditer(statement.text):
        is_read = any(each.start <= match.start() < each.end_in(statement.text) for each in stated)
        unread += [match[0]] if not is_read and not has_words(match[0], quoted) else []
    for words, is_another in calendar_words(statement.text, quotes):
        if is_another:
            missing.append(f"“{words}” stands in none of its quotes.")
        else:
            unread.append(words)
    return Facts(tuple(dict.fromkeys(missing)), tuple(dict.fromkeys(unread)))


def _is_contradicted(
    figure: Figure, text: str, inside: Sequence[tuple[FoundQuote, Sequence[Figure]]], known: Sequence[Figure]
) -> bool:
    """True if the quotes have exactly one date, or one other figure of the same unit, that differs, and nothing
    suggests that it may still be meant or computed."""
    quoted = "\n".join(found.text for found, _ in inside)
    if any(each.unread or figure.values & each.values for each in known):
        return False
    others = [each for each in known if not days_in(each)]
    dated = {day for each in known for day in days_in(each)}
    if days := days_in(figure):
        is_relative = any(dimension_of(each) in (MINUTES, MONTHS) for each in others) or has_words(RELATIVE, quoted)
        return len(dated) == 1 and not is_relative and all(_differ(day, *dated) for day in days)
    if (
        len(others) != 1
        or (others[0].unit, others[0].rate) != (figure.unit, figure.rate)
        or _may_be_meant(figure, *others)
    ):
        return False
    if figure.unit:
        return not (dated and dimension_of(figure) in (MINUTES, MONTHS))  # the time that has passed since then
    if text[: figure.start][-1:].isalpha():
        return False  # part of a name: "EC2", "C1 in German"
    # "Nine engineers" is not eight, but may be five welders and four fitters.
    [things] = [
        counted_words(each, found.source.text) for found, some in inside for each in some if each in others
    ] or [None]
    mine = counted_words(figure, text)
    return things is not None and bool({*things} & {*mine} or not (things or mine)) and not has_words(OTHERS, quoted)


def _differ(one: Day, other: Day) -> bool:
    """True if the dates differ in a part that both have."""
    parts = ((one.year, other.year), (one.month, other.month), (one.day, other.day), (one.quarter, other.quarter))
    return any(a and b and a != b for a, b in parts)


def _may_be_meant(figure: Figure, known: Figure) -> bool:
    """True if either figure is approximate or rounded ("1,300" for 1,287), if they add up to 100 %, or if they are the
    same hour in the 12- and 24-hour clock."""
    if figure.leeway or known.leeway:
        return True
    is_share, is_hour = dimension_of(figure) == PERCENT, figure.unit == UNITS["h"]
    rounding = max(map(_rounding, figure.values), default=Fraction(0))
    pairs = [(a, b) for a in figure.values for b in known.values]
    return any(
        abs(a - b) <= rounding * max(a, b) or (is_share and a + b == 100) or (is_hour and abs(a - b) == 12)
        for a, b in pairs
    )


def _rounding(value: Fraction) -> Fraction:
    """Return the relative error of rounding to this number's digits; 0 if it has fewer than two."""
    places = next((i for i in range(7) if (value * 10**i).denominator == 1), None)
    if not value or places is None:
        return Fraction(0)
    written = str((value * 10**places).numerator)
    digits = written.rstrip("0")
    return Fraction(10 ** (len(written) - len(digits)), 2 * 10**places) / value if len(digits) > 1 else Fraction(0)


def _ends(figure: Figure) -> list[Figure]:
    """Return the two years of "2014/15", which are checked separately; otherwise the figure itself."""
    return [replace(figure, days=(day,)) for day in figure.days] if figure.is_span else [figure]


def _may_be_what_was_left(figure: Figure, same: Sequence[Figure], known: Sequence[Figure]) -> bool:
    """True for "down by 1.2 %" if the quotes give the percentages before and after instead."""
    shares = [each for each in known if dimension_of(each) == PERCENT]
    is_level = all(each in shares and not (each.is_fall or each.is_rise) for each in same)
    return (figure.is_fall or figure.is_rise) and len(shares) > 1 and is_level


def _inside(found: FoundQuote) -> list[Figure]:
    """Return the figures that lie completely inside a quote, with the unit that the source's text gives them."""
    text = found.source.text
    read = (
        each for each in figures(text, found.source.language) if found.start <= each.start and each.end <= found.end
    )
    told = [replace(each, is_fall=is_fall(each, text), is_rise=is_rise(each, text)) for each in read]
    return [part for each in told for part in (each, *_parts(each))]


def _in_fields(quotes: Sequence[FoundQuote]) -> Iterator[Figure]:
    for source in {found.source.id: found.source for found in quotes}.values():
        for value in source.fields.values():
            yield from figures(value, source.language)


def _parts(figure: Figure) -> Iterator[Figure]:
    """Yield the hours and the minutes of "1h52", which count as figures of their own."""
    if figure.unit == UNITS["h"] and re.search(r"[^\W\d_]\D*\d", figure.text):
        for value in figure.values:
            yield from (replace(figure, values=frozenset({each})) for each in (Fraction(value // 1), value % 1))


def _where(figure: Figure, quotes: Sequence[FoundQuote]) -> str:
    beside = (each for found in quotes for each in figures(found.sentence, found.source.language))
    if any(is_same(figure, each) for each in beside):
        return "stands beside its quotes and not in them: quote it too."
    return "stands in none of its quotes."


def _pound(found: Sequence[Figure]) -> Unit | None:
    """Decide from the other figures whether "pound" is money or weight; None if they do not show it."""
    dimensions = {dimension_of(each) for each in found}
    if "GBP" in dimensions:
        return None if "mass" in dimensions else UNITS["gbp"]
    return UNITS["lb"] if "mass" in dimensions else None


def _with_pound(found: Sequence[Figure], pound: Unit) -> list[Figure]:
    return [replace(each, unit=pound) if dimension_of(each) == POUNDS else each for each in found]


# --- names ------------------------------------------------------------------------------------------------------------

_NAME = pattern(r"(?<![^\W_])(?=[^\W_]*[A-ZÀ-ÖØ-Þ])[^\W_][\w&.+#'’-]*")


def names_not_in(text: str, quotes: Sequence[FoundQuote]) -> tuple[str, ...]:
    """Return words with a capital letter, except the first word, that occur neither in the quotes nor in their sources'
    fields."""
    known = " ".join([text for found in quotes for text in (found.text, *found.source.fields.values())]).casefold()
    found = [match[0].rstrip(".'’-") for match in _NAME.finditer(text) if match.start()]
    return tuple(dict.fromkeys(name for name in found if name.casefold() not in known))[:MOST_NAMES]
