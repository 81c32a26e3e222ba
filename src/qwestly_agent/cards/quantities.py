"""Quantities: value, magnitude, unit and comparison, as digits or as words."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from qwestly_agent.cards.dates import dates_in
from qwestly_agent.cards.lexicon import (
    CURRENCIES,
    MAGNITUDES,
    MULTIPLES,
    NOUNS,
    NUMBER_WORDS,
    OCCUPATIONS,
    PEOPLE,
    RATES,
    STOP,
    UNITS,
)
from qwestly_agent.cards.numerals import Lexeme, number_at
from qwestly_agent.cards.passages import Passage, bare, once, stem

_LEXEME = re.compile(
    r"(?P<number>(?<![A-Za-zÀ-ÿ])(?:\d{1,3}(?:[,.'’\u202f\u00a0]\d{3})+(?![\d])(?:[.,]\d+)?|\d+(?:[.,]\d+)?))"
    r"|(?P<word>[^\W\d_][\w'’²]*)|(?P<sign>[€$£%×~>#])|(?P<plus>\+)|(?P<joint>[-–/&])|(?P<stop>\S)",
    re.DOTALL,
)
_ANY = re.compile(rf"\d|\b(?:an? [a-z]|half|{'|'.join([*NUMBER_WORDS, *MULTIPLES])})", re.IGNORECASE)
_ONE_TO_ONE = re.compile(r"\b1(?::|-on-|-to-)1s?\b|\bone[- ](?:on|to)[- ]one\b|\b24/7\b", re.IGNORECASE)
_OVER = {"over", "above", "exceeding", "than", "least", "upwards", ">", "beyond", "surpassing"}
_NEARLY = {"nearly", "almost", "close"}
_ABOUT = {"about", "around", "roughly", "approximately", "approx", "some", "circa", "ca", "~", "estimated"}
_UNDER = {"under", "below", "most", "up", "fewer", "less"}
STAFF = frozenset(stem(NOUNS.get(word, word)) for word in PEOPLE | OCCUPATIONS)


@dataclass(frozen=True)
class Quantity:
    value: float
    step: float
    """The worth of its last digit: 0.1 million in 4.5m."""
    unit: str
    """A dimension of `UNITS`, a currency, `rank`, or nothing for what is counted."""
    how: str
    """exact, over, under, nearly or about"""
    nouns: frozenset[str]
    """Stems that say what is counted."""
    near: frozenset[str]
    """Stems just before it, where a heading or "team of" may say it."""
    rate: str
    scale: float
    """Its magnitude and unit, in the base of that unit."""
    from_here: bool
    """It follows "from": what comes next is what it became."""
    leads_on: bool
    """What comes next is the other end of a range."""
    text: str


@once
def quantities(passage: Passage) -> tuple[Quantity, ...]:
    text = passage.text
    if not _ANY.search(text):
        return ()
    for start, end in dates_in(passage).places:
        text = text[:start] + "¦" * (end - start) + text[end:]
    text = _ONE_TO_ONE.sub(lambda found: "¦" * len(found.group()), text)
    lexemes = [
        Lexeme(found.lastgroup or "", bare(found.group()), found.start(), found.end())
        for found in _LEXEME.finditer(text)
    ]
    return tuple(_shared_units(list(_read(text, lexemes))))


def _read(text: str, lexemes: list[Lexeme]) -> Iterator[Quantity]:
    at = 0
    while at < len(lexemes):
        value, step, after = number_at(lexemes, at)
        if after == at:
            at += 1
            continue
        yield _quantity(text, lexemes, at, after, value, step)
        at = after


def _quantity(text: str, lexemes: list[Lexeme], at: int, after: int, value: float, step: float) -> Quantity:
    before = _before(lexemes, at)
    following = lexemes[after : after + 9]
    how, following = _comparison(before, following)
    words = list(_noun_phrase(following))
    head = words[0] if words else ""
    unit, factor = UNITS.get(head, ("", 1.0))
    end = following[0].end if unit and following else lexemes[after - 1].end
    if lexemes[at].text in MULTIPLES:
        unit, factor = "times", 1.0
    elif currency := next((CURRENCIES[word] for word in (before[-1:] + words[:1]) if word in CURRENCIES), ""):
        unit, factor = currency, 1.0
    elif following and following[0].text in ("st", "nd", "rd", "th") and lexemes[after - 1].end == following[0].start:
        unit, words = "rank", []
    begin = lexemes[at - 1].start if before[-1:] and before[-1] in CURRENCIES else lexemes[at].start
    shown = end if unit or not words else following[min(len(words), 3) - 1].end if len(following) >= len(words) else end
    near = nouns_of(before)
    if not words and not unit and before[-1:] == [":"] and any(word in ("years", "year") for word in before):
        unit, factor = "months", 12.0  # "Years of experience: 14"
    from_here = "from" in before[-2:]
    leads_on = bool(following) and following[0].text in ("-", "–", "to", "and", "or")
    said = text[begin : max(shown, end)].strip()
    scale = factor * next((MAGNITUDES[x.text] for x in lexemes[at + 1 : after] if x.text in MAGNITUDES), 1.0)
    return Quantity(
        value * factor,
        step * factor,
        unit,
        how,
        nouns_of(words),
        near,
        _rate(following),
        scale,
        from_here,
        leads_on,
        said,
    )


def nouns_of(words: Sequence[str]) -> frozenset[str]:
    return frozenset(stem(NOUNS.get(word, word)) for word in words if word[0].isalpha() and word not in STOP)


def _noun_phrase(lexemes: list[Lexeme]) -> Iterator[str]:
    for lexeme in lexemes[:5]:
        if lexeme.text in ("%", "×"):
            yield "%" if lexeme.text == "%" else "x"
            return
        if lexeme.text == "-":
            continue
        if lexeme.kind == "sign" and lexeme.text in CURRENCIES:
            yield lexeme.text
            return
        if lexeme.kind != "word" or lexeme.text in STOP or lexeme.text in NUMBER_WORDS:
            return
        yield lexeme.text


def _comparison(before: list[str], following: list[Lexeme]) -> tuple[str, list[Lexeme]]:
    if following and following[0].kind == "plus":
        return "over", following[1:]
    if [lexeme.text for lexeme in following[:2]] == ["or", "more"]:
        return "over", following[2:]
    words = [word for word in before if word not in CURRENCIES and word not in ("a", "to", "the", "of")][-2:]
    last = words[-1] if words else ""
    if last == "as" and words[0] in ("many", "much"):
        return "under", following
    if last == "than":
        return ("under" if words[0] in ("less", "fewer") else "over"), following
    if (last in _UNDER and words[0] == "just") or last in _NEARLY:
        return "nearly", following
    for how, cues in (("over", _OVER), ("under", _UNDER), ("about", _ABOUT)):
        if last in cues:
            return how, following
    return "exact", following


def _rate(following: list[Lexeme]) -> str:
    words = [lexeme.text for lexeme in following[:7]]
    for marker, word in zip(["", *words], words, strict=False):
        if word in RATES and (marker in ("per", "a", "an", "each", "every", "/") or word.endswith("ly")):
            return RATES[word]
    return ""


def _shared_units(found: list[Quantity]) -> Iterator[Quantity]:
    """In "10–15 %" and "from 2 to 3 million" the second tells the unit of the first, in "from 10 days to 4" the first
    that of the second."""
    for index, quantity in enumerate(found):
        before = found[index - 1] if index else None
        after = found[index + 1] if index + 1 < len(found) else None
        if quantity.unit or quantity.nouns or quantity.scale != 1:
            yield quantity
        elif before and before.from_here and before.unit:
            yield _in_unit_of(before, quantity)
        elif after and quantity.leads_on and (after.unit or after.scale != 1):
            yield _in_unit_of(after, quantity)
        else:
            yield quantity


def _in_unit_of(other: Quantity, quantity: Quantity) -> Quantity:
    value, step = quantity.value * other.scale, quantity.step * other.scale
    return replace(quantity, value=value, step=step, unit=other.unit, scale=other.scale)


def _before(lexemes: list[Lexeme], at: int) -> list[str]:
    """The words before, as far as a comma or a full stop."""
    words = [lexeme.text for lexeme in lexemes[max(0, at - 6) : at]]
    stops = [index for index, word in enumerate(words) if word in (",", ".", ";", "|", ")", "¦")]
    return words[stops[-1] + 1 :] if stops else words


@once
def with_derived(passage: Passage) -> tuple[Quantity, ...]:
    """From 4 to 12 is three times as much, and 200 % more; five engineers and two testers are seven people."""
    found = quantities(passage)
    return (*found, *_derived(found))


def _derived(found: Sequence[Quantity]) -> Iterator[Quantity]:
    for left, right in pairwise(found):
        if left.from_here and left.value and left.value != right.value:
            yield replace(right, value=right.value / left.value, unit="change", text="")
            unit = "points" if right.unit == "percent" else right.unit
            yield replace(right, value=abs(right.value - left.value), unit=unit, text="")
        elif left.nouns & STAFF and right.nouns & STAFF and left.how == right.how == "exact":
            yield replace(right, value=left.value + right.value, nouns=left.nouns | right.nouns, text="")
