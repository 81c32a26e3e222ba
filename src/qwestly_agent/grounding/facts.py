"""Look 2: check that each exact fact of a statement stands in its quotes, or follows by one step of arithmetic.

A date is a figure too. A figure of the statement is compared (`compare_figures.py`, dates by `Day.says` of `dates.py`,
weekdays and seasons in `calendar_words.py`) with the complete figures of its quotes and with those of their sources'
structured fields. What does not stand there contradicts it, or is left to the judge (`left_to_judge.py`). Figures that
code cannot parse completely are listed as `unread` as well; so are those that the quotes may express in words, that
are near a known figure, that need more than one step, or that one of another kind in the quotes may stand for,
misread.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction

from qwestly_agent.grounding.arithmetic import is_fall, is_rise, one_step
from qwestly_agent.grounding.calendar_words import calendar_words
from qwestly_agent.grounding.compare_figures import MOST_FIGURES, dimension_of, is_same
from qwestly_agent.grounding.figures import figures
from qwestly_agent.grounding.left_to_judge import is_left_to_judge, may_be_misread
from qwestly_agent.grounding.model import Figure, Statement
from qwestly_agent.grounding.quotes import FoundQuote
from qwestly_agent.grounding.units import PERCENT, POUNDS, UNITS, Unit


@dataclass(frozen=True)
class Facts:
    missing: tuple[str, ...]
    """A sentence for each figure that was not found."""
    arithmetic: tuple[str, ...]
    unread: tuple[str, ...]


def check_facts(statement: Statement, quotes: Sequence[FoundQuote], today: date) -> Facts:
    """Check the figures of a statement. `today` is the end of periods that are still going on."""
    stated = figures(statement.text, statement.language)
    known = list(_known(quotes))
    if pound := _pound([*stated, *known]):
        stated, known = _with_pound(stated, pound), _with_pound(known, pound)
    missing: list[str] = []
    arithmetic: list[str] = []
    unread: list[str] = []
    for figure in [end for each in stated for end in _ends(each)]:
        is_down, is_up = is_fall(figure, statement.text), is_rise(figure, statement.text)
        rounded = replace(figure, is_fall=is_down, is_rise=is_up)
        exact = replace(rounded, leeway=Fraction(0))
        if figure.unread:
            unread.append(figure.text.strip())
        elif same := [each for each in known if is_same(exact, each)]:
            if _may_be_what_was_left(exact, same, known):
                unread.append(figure.text.strip())
        elif step := one_step(exact, known[:MOST_FIGURES], today):
            arithmetic.append(step)
        elif is_left_to_judge(replace(exact, leeway=figure.leeway), known, quotes, today) or may_be_misread(
            figure, stated, known
        ):
            unread.append(figure.text.strip())
        else:
            missing.append(f"“{figure.text.strip()}” {_where(figure, quotes)}")
    for words, is_another in calendar_words(statement.text, quotes):
        if is_another:
            missing.append(f"“{words}” stands in none of its quotes.")
        else:
            unread.append(words)
    return Facts(tuple(dict.fromkeys(missing)), tuple(dict.fromkeys(arithmetic)), tuple(dict.fromkeys(unread)))


def _ends(figure: Figure) -> list[Figure]:
    """Return the two years of "2014/15", which are checked each by itself; else the figure alone."""
    return [replace(figure, days=(day,)) for day in figure.days] if figure.is_span else [figure]


def _may_be_what_was_left(figure: Figure, same: Sequence[Figure], known: Sequence[Figure]) -> bool:
    """Recognize "down by 1.2 %" where the quotes say from how many per cent to how many."""
    shares = [each for each in known if dimension_of(each) == PERCENT]
    is_level = all(each in shares and not (each.is_fall or each.is_rise) for each in same)
    return (figure.is_fall or figure.is_rise) and len(shares) > 1 and is_level


def _known(quotes: Sequence[FoundQuote]) -> Iterator[Figure]:
    """Yield the figures completely inside the quotes, with the unit that their source gives them."""
    for found in quotes:
        for figure in figures(found.source.text, found.source.language):
            if found.start <= figure.start and figure.end <= found.end:
                text = found.source.text
                yield replace(figure, is_fall=is_fall(figure, text), is_rise=is_rise(figure, text))
                yield from _parts(figure)
    for source in {found.source.id: found.source for found in quotes}.values():
        for value in source.fields.values():
            yield from figures(value, source.language)


def _parts(figure: Figure) -> Iterator[Figure]:
    """Yield the hours and the minutes of "1h52", which are figures as well."""
    if figure.unit == UNITS["h"] and re.search(r"[^\W\d_]\D*\d", figure.text):
        for value in figure.values:
            yield from (replace(figure, values=frozenset({each})) for each in (Fraction(value // 1), value % 1))


def _where(figure: Figure, quotes: Sequence[FoundQuote]) -> str:
    beside = (each for found in quotes for each in figures(found.sentence, found.source.language))
    if any(is_same(figure, each) for each in beside):
        return "stands beside its quotes and not in them: quote it too."
    return "stands in none of its quotes."


def _pound(found: Sequence[Figure]) -> Unit | None:
    """Decide by the other figures if a pound is money or a weight; None if they do not show it."""
    dimensions = {dimension_of(each) for each in found}
    if "GBP" in dimensions:
        return None if "mass" in dimensions else UNITS["gbp"]
    return UNITS["lb"] if "mass" in dimensions else None


def _with_pound(found: Sequence[Figure], pound: Unit) -> list[Figure]:
    return [replace(each, unit=pound) if dimension_of(each) == POUNDS else each for each in found]
