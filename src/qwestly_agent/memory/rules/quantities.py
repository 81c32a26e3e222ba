"""Quantities: value, magnitude, unit and comparison, as digits or as words."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from qwestly_agent.memory.rules.dates import dates_in
from qwestly_agent.memory.rules.lexicon import (
    ADVERBS,
    ATTACHED_UNITS,
    CURRENCIES,
    FRACTIONS,
    IRREGULAR_PAST,
    LABELS,
    MAGNITUDES,
    MULTIPLES,
    NOUNS,
    NOUNS_IN_ED,
    NUMBER_WORDS,
    OCCUPATIONS,
    ORDINALS,
    PEOPLE,
    RATES,
    SHARES,
    STOP,
    UNITS,
)
from qwestly_agent.memory.rules.numerals import Lexeme, Numeral, number_at
from qwestly_agent.memory.rules.passages import Passage, bare, once, stem

_LEXEME = re.compile(
    r"(?P<number>(?<![A-Za-zÀ-ÿ])(?:\d{1,3}(?:[,.'’\u202f\u00a0]\d{3})+(?![\d])(?:[.,]\d+)?|\d+(?:[.,]\d+)?))"
    r"|(?P<word>[^\W\d_][\w'’²]*)|(?P<sign>[€$£%×~>#])|(?P<plus>\+)|(?P<joint>[-–/&])|(?P<stop>\S)",
    re.DOTALL,
)
_WORDS = "|".join([*NUMBER_WORDS, *MULTIPLES, *FRACTIONS, *ORDINALS.values()])
_ANY = re.compile(rf"\d|\b(?:an? [a-z]|{_WORDS})", re.IGNORECASE)
_PER_CENT = re.compile(r"\bper cent\b", re.IGNORECASE)
_ONE_TO_ONE = re.compile(r"\b1(?::|-on-|-to-)1s?\b|\bone[- ](?:on|to)[- ]one\b|\b24/7\b", re.IGNORECASE)
_OVER = {"over", "above", "exceeding", "than", "least", "upwards", ">", "beyond", "surpassing"}
_NEARLY = {"nearly", "almost", "close"}
_ABOUT = {"about", "around", "roughly", "approximately", "approx", "some", "circa", "ca", "~", "estimated"}
_UNDER = {"under", "below", "most", "up", "fewer", "less"}
_OR_MORE = {"more", "above", "better", "higher", "over"}
_JOINTS = ("-", "–", "to", "and", "or")
SHARE_STEMS = frozenset(map(stem, SHARES))
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
    start: int
    """Where it stands in its passage."""


@once
def quantities(passage: Passage) -> tuple[Quantity, ...]:
    text = passage.text
    if not _ANY.search(text):
        return ()
    for start, end in dates_in(passage).places:
        text = text[:start] + "¦" * (end - start) + text[end:]
    text = _ONE_TO_ONE.sub(lambda found: "¦" * len(found.group()), text)
    text = _PER_CENT.sub("percent ", text)
    lexemes = [
        Lexeme(found.lastgroup or "", bare(found.group()), found.start(), found.end())
        for found in _LEXEME.finditer(text)
    ]
    return tuple(_shared_units(list(_read(text, lexemes))))


def _read(text: str, lexemes: list[Lexeme]) -> Iterator[Quantity]:
    at = 0
    while at < len(lexemes):
        if numeral := number_at(lexemes, at):
            yield _quantity(text, lexemes, at, numeral)
            at = numeral.after
        else:
            at += 1


def _quantity(text: str, lexemes: list[Lexeme], at: int, numeral: Numeral) -> Quantity:
    before, number = _before(lexemes, at), lexemes[numeral.after - 1]
    how, following = _comparison(before, lexemes[numeral.after : numeral.after + 9])
    words = _noun_phrase(following)
    begin, nouns = lexemes[at].start, nouns_of(words)
    if numeral.unit:
        unit, factor, places = numeral.unit, 1.0, 0
    else:
        unit, factor, places = _unit(text, lexemes, at, following, words)
    label = None if unit else _label(text, lexemes, at)
    if unit == "rank":
        nouns = frozenset[str]()
    elif label and (not words or _singular(label.text) in LABELS):
        nouns, begin, places = nouns_of([_singular(label.text)]), label.start, 0
    elif not unit:
        places = min(len(words), 3)
    if before[-1:] and (before[-1] in CURRENCIES or before[-1] == "#"):
        begin = lexemes[at - 1].start
    end = following[places - 1].end if 0 < places <= len(following) else number.end
    magnitude = next((MAGNITUDES[x.text] for x in lexemes[at + 1 : numeral.after] if x.text in MAGNITUDES), 1.0)
    return Quantity(
        numeral.value * factor,
        numeral.step * factor,
        unit,
        how,
        nouns,
        nouns_of(before),
        _rate(following),
        factor * magnitude,
        "from" in before[-2:],
        _leads_on(lexemes[numeral.after :][:2]),
        text[begin:end].strip(),
        lexemes[at].start,
    )


def _unit(
    text: str, lexemes: list[Lexeme], at: int, following: list[Lexeme], words: list[str]
) -> tuple[str, float, int]:
    """The unit, its worth in the base of its dimension, and how many of the lexemes that follow name it."""
    before = _before(lexemes, at)
    first = following[0] if following else Lexeme("", "", 0, 0)
    as_written = text[first.start : first.end] if text[first.start - 1 : first.start].isdigit() else ""
    place = 2 if first.text == "-" else 1
    head = words[0] if words else ""
    if before[-1:] and before[-1] in CURRENCIES:
        return CURRENCIES[before[-1]], 1.0, 0
    if head in CURRENCIES:
        return CURRENCIES[head], 1.0, place
    if as_written in ("st", "nd", "rd", "th") or (before[-1:] == ["#"] and lexemes[at - 1].end == lexemes[at].start):
        return "rank", 1.0, 1 if as_written else 0
    if as_written in ATTACHED_UNITS:
        return *UNITS[ATTACHED_UNITS[as_written]], 1
    if head in UNITS:
        return *UNITS[head], place + (head == "percentage" and words[1:2] in (["points"], ["point"]))
    if not words and before[-1:] == [":"] and ("years" in before or "year" in before):
        return "months", 12.0, 0  # "Years of experience: 14"
    return "", 1.0, 0


def _label(text: str, lexemes: list[Lexeme], at: int) -> Lexeme | None:
    """What gives the number as a name: the grade of "grade 4", the OSHA of "OSHA 30"."""
    before = lexemes[at - 1] if at else None
    if not before or before.kind != "word" or lexemes[at].kind != "number" or lexemes[at].start - before.end > 1:
        return None
    as_written, word = text[before.start : before.end], _singular(before.text)
    named = word in LABELS and (word not in RATES or as_written[0].isupper())
    return before if named or (len(word) > 1 and as_written.isupper() and before.text not in STOP) else None


def _singular(word: str) -> str:
    return word if word in LABELS else word.removesuffix("s")


def _leads_on(following: list[Lexeme]) -> bool:
    if len(following) < 2 or following[0].text not in _JOINTS:
        return False
    return following[1].kind == "number" or following[1].text in NUMBER_WORDS or following[1].text in CURRENCIES


def nouns_of(words: Sequence[str]) -> frozenset[str]:
    return frozenset(stem(NOUNS.get(word, word)) for word in words if word[:1].isalpha() and word not in STOP)


def _noun_phrase(lexemes: list[Lexeme]) -> list[str]:
    """The words that say what is counted, without what was done with it: of "30 completed in May" none."""
    words = list(_words_after(lexemes))
    while words and (words[-1] in IRREGULAR_PAST or (words[-1].endswith("ed") and words[-1] not in NOUNS_IN_ED)):
        words.pop()
    return words


def _words_after(lexemes: list[Lexeme]) -> Iterator[str]:
    for index, lexeme in enumerate(lexemes[:5]):
        if lexeme.text in ("%", "×"):
            yield "%" if lexeme.text == "%" else "x"
            return
        if lexeme.text == "-":
            continue
        if lexeme.kind == "sign" and lexeme.text in CURRENCIES:
            yield lexeme.text
            return
        if lexeme.text in ("and", "&") and 0 < index < 3 and lexemes[index + 1 : index + 2]:
            continue  # 3,400 flu and tetanus jabs
        if lexeme.kind != "word" or lexeme.text in STOP or lexeme.text in NUMBER_WORDS or lexeme.text in ADVERBS:
            return
        yield lexeme.text


def _comparison(before: list[str], following: list[Lexeme]) -> tuple[str, list[Lexeme]]:
    if following and following[0].kind == "plus":
        return "over", following[1:]
    if len(following) > 1 and following[0].text in ("or", "and") and following[1].text in _OR_MORE:
        return "over", following[2:]
    words = [word for word in before if word not in CURRENCIES and word not in ("a", "to", "the", "of")][-2:]
    last = words[-1] if words else ""
    if last == "up" and "to" not in before[-3:]:
        return "exact", following
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


def _shared_units(found: Sequence[Quantity]) -> Iterator[Quantity]:
    """In "10–15 %" and "from 2 to 3 million" the second tells the unit of the first, in "from 10 days to 4" the first
    that of the second."""
    before: Quantity | None = None
    for quantity, after in zip(found, [*found[1:], None], strict=False):
        before = _with_unit(quantity, before, after)
        yield before


def _with_unit(quantity: Quantity, before: Quantity | None, after: Quantity | None) -> Quantity:
    if quantity.unit or quantity.nouns or quantity.scale != 1:
        return quantity
    if before and before.from_here and before.unit:
        return _in_unit_of(before, quantity)
    if after and quantity.leads_on and (after.unit or after.scale != 1):
        return _in_unit_of(after, quantity)
    if before and after and quantity.from_here and not after.unit and not after.nouns:
        # "By five weeks, from twelve to seven"
        by_that = before.unit and abs(quantity.value - after.value) * before.scale == before.value
        return _in_unit_of(before, quantity) if by_that else quantity
    if before and not before.unit and not before.nouns:
        # "Accuracy was 97.1 and is 99.4 now" gives the accuracy twice.
        return replace(quantity, near=quantity.near | before.near & SHARE_STEMS)
    return quantity


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
    return (*found, *derived(found), *risen_in(passage))


def derived(found: Sequence[Quantity]) -> Iterator[Quantity]:
    for left, right in pairwise(found):
        if left.from_here and left.value and left.value != right.value:
            yield replace(right, value=right.value / left.value, unit="change", text="")
            unit = "points" if right.unit == "percent" else right.unit
            yield replace(right, value=abs(right.value - left.value), unit=unit, text="")
        elif left.nouns & STAFF and right.nouns & STAFF and left.how == right.how == "exact":
            yield replace(right, value=left.value + right.value, nouns=left.nouns | right.nouns, text="")


def risen_in(passage: Passage) -> Iterator[Quantity]:
    """From the first of several percentages, each with its year, to the last."""
    found = quantities(passage)
    shares = [quantity for quantity in found if quantity.unit == "percent"]
    if len(shares) > 1 and len(shares) == len(found) == len(set(dates_in(passage).solo)):
        yield from derived([replace(shares[0], from_here=True), shares[-1]])
