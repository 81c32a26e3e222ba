"""Step 2: compare a statement's figures and names with its quotes, and later with the quoted words that the judge gives
for them.

A figure is found if the quotes, or the fields of their sources, contain it. If the quotes have only one figure of its
kind and that differs, the statement is refused. Everything else is marked: readers see it underlined, and the judge
must give the words of the quotes that mean it (`says`).
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

from qwestly_agent.base.patterns import pattern
from qwestly_agent.grounding.figures import Day, Figure, figures, is_same
from qwestly_agent.grounding.model import Statement
from qwestly_agent.grounding.quotes import FoundQuote, find_span

MOST_NAMES = 8
TENTH = Fraction(1, 10)
"""Relative difference allowed by a word of approximation."""
_UNITS_OF_OTHERS = frozenset({"percent", "EUR", "GBP", "USD", "CHF", "BRL", "INR"})
"""Units that may be missing or scaled differently: "107" (pence) for "£1.07"."""
_CLOCK = pattern(r"\d{1,2}[.:h]\d{2}")
_FRACTION = pattern(
    r"half|third|quarter|drittel|viertel|fünftel|tiers|terci|terço|terz[oi]|rest[eo]?\b|halb|hälfte|demi|moitié|medi[oa]\b|mitad|mei[oa]\b|metade|mezz|metà|½|¼|¾",
    re.IGNORECASE,
)
"""Words that change the value of an adjacent figure."""
_NAME = pattern(r"(?<![^\W_])(?=[^\W_]*[A-ZÀ-ÖØ-Þ])[^\W_][\w&.+#'’-]*")


@dataclass(frozen=True)
class Facts:
    missing: tuple[str, ...]
    """A sentence for each figure that contradicts the quotes."""
    unread: tuple[str, ...]
    """Figures, as written, that do not occur in the quotes."""
    names: tuple[str, ...]
    """Capitalized words that do not occur in the quotes."""


def check_facts(statement: Statement, quotes: Sequence[FoundQuote]) -> Facts:
    known = [*(each for found in quotes for each in _inside(found)), *_in_fields(quotes)]
    missing, unread = list[str](), list[str]()
    for figure in figures(statement.text, statement.language):
        shown = figure.text.strip()
        is_unreadable = not (figure.days or figure.numbers)
        if any(is_same(figure, each) for each in known) or (is_unreadable and _stands(shown, quotes)):
            continue
        if _is_contradicted(figure, known, quotes):
            missing.append(f"“{shown}” {_where(figure, quotes)}")
        else:
            unread.append(shown)
    names = _names_not_in(statement.text, quotes)
    return Facts(*(tuple(dict.fromkeys(each)) for each in (missing, unread, names)))


def says(words: str, mark: str, statement: Statement, quotes: Sequence[FoundQuote]) -> bool:
    """True if the words occur in the quotes or in their sources' fields, as runs separated by "…", and their figures do
    not contradict those of the mark, as far as code can read both."""
    known = list[Figure]()
    for run in filter(str.strip, words.split("…")):
        found = list(_figures_in(run, quotes))
        if not found:
            return False
        known += found[0]
    if not words.strip(" …"):
        return False
    if _FRACTION.search(words) or any(_is_unreadable(each) for each in known):
        return True
    # In the statement, a figure comes with its word of approximation.
    meant = [each for each in figures(statement.text, statement.language) if each.text.strip() == mark]
    return not any(_differs(each, known) for each in meant or figures(mark, statement.language))


def _figures_in(run: str, quotes: Sequence[FoundQuote]) -> Iterator[Sequence[Figure]]:
    """For each place where a run of words occurs, yield its figures, with the unit and rate found in the source."""
    plain = run.strip()
    for found in quotes:
        at = found.text.casefold().find(plain.casefold())
        span = find_span(run, found.text) or ((at, at + len(plain)) if at >= 0 else None)
        if span:
            yield [*_inside(FoundQuote(found.source, found.start + span[0], found.start + span[1]))]
        for value in found.source.fields.values():
            if find_span(run, value):
                yield figures(value, found.source.language)


def _is_unreadable(figure: Figure) -> bool:
    return not (figure.days or figure.numbers) or bool(_CLOCK.fullmatch(figure.text.strip()))


def _differs(figure: Figure, found: Sequence[Figure]) -> bool:
    """True if `found` is a single figure, or two of the same unit, that cannot mean this one. More figures, or a date
    next to a number, could be the basis of any calculation."""
    dates = [each for each in found if each.days or each.year]
    others = [each for each in found if each not in dates]
    if _is_unreadable(figure) or not found or (dates and others):
        return False
    if figure.days or figure.year:
        years = {year for each in dates for year in _years_of(each)}
        return bool(years) and not (years & {*_years_of(figure)}) and bool(_years_of(figure))
    if dates:
        years = {year for each in dates for year in _years_of(each)}
        return figure.dimension == "months" and len(years) == 2 and not _is_derived(figure, dates)
    units = {each.dimension for each in others} | {figure.dimension}
    if len(others) > 2 or ("" in units and units & _UNITS_OF_OTHERS):
        return False
    return not any(_is_meant(figure, each) for each in others) and not _is_derived(figure, others)


def _years_of(figure: Figure) -> list[int]:
    return [year for year in ([day.year for day in figure.days] if figure.days else [figure.year]) if year]


def _is_meant(figure: Figure, known: Figure) -> bool:
    """True if the known figure is this one, as far as both have a date, unit and rate. A word of approximation allows a
    difference of a tenth."""
    if figure.days or figure.year:
        return is_same(figure, known)
    if (figure.dimension and known.dimension and figure.dimension != known.dimension) or known.days:
        return False
    if figure.rate and known.rate and figure.rate != known.rate:
        return False
    mine, theirs = (
        (figure.values, known.values) if figure.dimension and known.dimension else (figure.numbers, known.numbers)
    )
    leeway = TENTH if figure.is_about or known.is_about else 0
    return any(abs(a - b) <= leeway * max(a, b) for a in mine for b in theirs)


def _is_derived(figure: Figure, found: Sequence[Figure], all_years: Collection[int] = ()) -> bool:
    """True if the figure follows from two of these figures in one step, or is the time between two dates or since a
    date."""
    years = [year for each in found for year in _years_of(each)]
    if figure.dimension == "months" and years:
        spans = {12 * abs(a - b) for a in years for b in years}
        return len({*years, *all_years}) == 1 or any(
            abs(value - span) <= 12 for value in figure.values for span in spans
        )
    plain = [each for each in found if not (each.days or each.year)]
    pairs = [
        (a, b)
        for one, other in combinations(plain, 2)
        for a, b in (*product(one.numbers, other.numbers), *product(one.values, other.values))
        if a and b
    ]
    steps = {step for a, b in pairs for step in (abs(a - b), a + b, a * b, a / b, b / a)}
    if figure.dimension == "percent":
        steps |= {share * 100 for a, b in pairs for share in (a / b, b / a, abs(a - b) / a, abs(a - b) / b)}
    return any(abs(value - step) * 100 <= value for value in {*figure.numbers, *figure.values} for step in steps)


def _is_contradicted(figure: Figure, known: Sequence[Figure], quotes: Sequence[FoundQuote]) -> bool:
    """True if the quotes have exactly one date, or exactly one other figure with the same unit and rate, and it
    differs."""
    if not (figure.days or figure.numbers) or any(_FRACTION.search(found.text) for found in quotes):
        return False
    if _is_derived(figure, known):
        return False
    dated = [day for each in known for day in (each.days or ((Day(each.year),) if each.year else ()))]
    others = [each for each in known if not (each.days or each.year)]
    if figure.days:
        is_relative = any(each.dimension in ("days", "months", "time") for each in others)
        return len({*dated}) == 1 and not is_relative and all(_differ(day, dated[0]) for day in figure.days)
    if figure.year or len(others) != 1 or figure.dimension in ("time", "days", "months"):  # "1 h 52", "since 2019"
        return False
    [other] = others
    is_alike = (figure.dimension, figure.thing, figure.rate) == (other.dimension, other.thing, other.rate)
    if not is_alike or figure.is_about or other.is_about:
        return False
    pairs = [(a, b) for a in figure.values for b in other.values]
    is_rounded = any(abs(a - b) * 20 <= max(a, b) for a, b in pairs)
    return not is_rounded and not (figure.dimension == "percent" and any(a + b == 100 for a, b in pairs))


def _stands(words: str, quotes: Sequence[FoundQuote]) -> bool:
    return any(find_span(words, found.text) for found in quotes)


def _differ(one: Day, other: Day) -> bool:
    """True if two dates with a year differ in a part that both of them have."""
    if not (one.year and other.year):
        return False
    parts = ((one.year, other.year), (one.month, other.month), (one.day, other.day), (one.quarter, other.quarter))
    return any(a and b and a != b for a, b in parts)


def _inside(found: FoundQuote) -> Iterator[Figure]:
    """Yield the figures whose number is completely inside a quote, with the unit found in the source's text."""
    for each in figures(found.source.text, found.source.language):
        if found.start <= each.start and each.end <= found.end:
            yield each


def _in_fields(quotes: Sequence[FoundQuote]) -> Iterator[Figure]:
    for source in {found.source.id: found.source for found in quotes}.values():
        for value in source.fields.values():
            yield from figures(value, source.language)


def _where(figure: Figure, quotes: Sequence[FoundQuote]) -> str:
    beside = (each for found in quotes for each in figures(found.sentence, found.source.language))
    if any(is_same(figure, each) for each in beside):
        return "stands beside its quotes and not in them: quote it too."
    return "stands in none of its quotes."


def _names_not_in(text: str, quotes: Sequence[FoundQuote]) -> list[str]:
    """Return capitalized words, except the first word, that occur neither in the quotes nor in their sources'
    fields."""
    known = " ".join([text for found in quotes for text in (found.text, *found.source.fields.values())]).casefold()
    found = [match[0].rstrip(".'’-") for match in _NAME.finditer(text) if match.start()]
    return [name for name in found if name.casefold() not in known][:MOST_NAMES]
