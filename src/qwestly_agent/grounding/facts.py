"""Look 2: check that each exact fact of a statement stands in its quotes, or follows by one step of arithmetic.

A figure of the statement is compared with the complete figures of its quotes and with those of their sources'
structured fields. Figures that code cannot parse completely are left to the judge and listed as `unread`; so are those
that the quotes may express in words, that are near a known figure, or that need more than one step.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction

from qwestly_agent.grounding.arithmetic import is_fall, one_step
from qwestly_agent.grounding.compare_figures import MOST_FIGURES, dimension_of, is_same
from qwestly_agent.grounding.figures import figures
from qwestly_agent.grounding.left_to_judge import is_left_to_judge
from qwestly_agent.grounding.model import Figure, Statement
from qwestly_agent.grounding.quotes import FoundQuote
from qwestly_agent.grounding.units import POUNDS, UNITS, Unit


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
    for figure in stated:
        exact = replace(figure, leeway=Fraction(0), is_fall=is_fall(figure, statement.text))
        if figure.unread:
            unread.append(figure.text.strip())
        elif any(is_same(exact, each) for each in known):
            continue
        elif step := one_step(exact, known[:MOST_FIGURES], today):
            arithmetic.append(step)
        elif is_left_to_judge(replace(exact, leeway=figure.leeway), known, quotes, today):
            unread.append(figure.text.strip())
        else:
            missing.append(f"“{figure.text.strip()}” {_where(figure, quotes)}")
    return Facts(tuple(missing), tuple(dict.fromkeys(arithmetic)), tuple(dict.fromkeys(unread)))


def _known(quotes: Sequence[FoundQuote]) -> Iterator[Figure]:
    """Yield the figures completely inside the quotes, with the unit that their source gives them."""
    for found in quotes:
        for figure in figures(found.source.text, found.source.language):
            if found.start <= figure.start and figure.end <= found.end:
                yield figure
    for source in {found.source.id: found.source for found in quotes}.values():
        for value in source.fields.values():
            yield from figures(value, source.language)


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
