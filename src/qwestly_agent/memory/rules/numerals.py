"""The value of a number that is written: 12, 4.5m, twelve, a quarter of a million, a third, nine in ten, second."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from qwestly_agent.memory.rules.lexicon import (
    CURRENCIES,
    FRACTIONS,
    MAGNITUDES,
    MULTIPLES,
    NUMBER_WORDS,
    ORDINALS,
    STOP,
    UNITS,
)

_OF_MANY = ("hundred", "thousand", "million", "billion", "dozen")
_RATIO_OF = {3.0, 4.0, 5.0, 10.0, 20.0, 100.0}
_NO_RANK_BEFORE = {"a", "an", "per", "each", "every", "one", "another"}
_NO_RANK_AFTER = {
    "hand",
    "nature",
    "thoughts",
    "party",
    "parties",
    "sector",
    "level",
    "home",
    "career",
    "careers",
    "line",
}
_RANKS = {word: float(rank) for rank, word in ORDINALS.items() if rank > 1}
"""The gate looks for "first" by itself, since it praises."""
_BEGINNINGS = {"a", "an", *NUMBER_WORDS, *FRACTIONS, *_RANKS}


@dataclass(frozen=True)
class Lexeme:
    kind: str
    text: str
    start: int
    end: int


class Numeral(NamedTuple):
    value: float
    step: float
    after: int
    """The place after it."""
    unit: str = ""
    """Where the number itself is one: percent ("by a third"), share ("a third of it"), left ("to a third
    of it"), rank, times."""


def number_at(lexemes: list[Lexeme], at: int) -> Numeral | None:
    """The number that begins here, if one does."""
    first = lexemes[at]
    if first.text in MULTIPLES:
        return Numeral(MULTIPLES[first.text], 0.01, at + 1, "times")
    if first.kind != "number" and first.text not in _BEGINNINGS:
        return None
    found = _fraction(lexemes, at) or _rank(lexemes, at) or _whole(lexemes, at)
    return (_ratio(lexemes, found) or found) if found else None


def _whole(lexemes: list[Lexeme], at: int) -> Numeral | None:
    first = lexemes[at]
    if first.kind == "number":
        value, step = _digits(first.text)
        return _magnified(lexemes, at + 1, value, step)
    if first.text in ("a", "an") and at + 1 < len(lexemes):
        word = lexemes[at + 1].text
        if word == "decade":
            return Numeral(1, 1, at + 1)
        return Numeral(MAGNITUDES[word], MAGNITUDES[word], at + 2) if word in _OF_MANY else None
    return _spelt(lexemes, at)


def _fraction(lexemes: list[Lexeme], at: int) -> Numeral | None:
    """ "A third" of something in percent; "three quarters of a million" and "half a dozen" as what they make."""
    words = [lexeme.text for lexeme in lexemes[at : at + 6]]
    count = {"a": 1.0, "an": 1.0}.get(words[0]) or (NUMBER_WORDS.get(words[0]) if words[0] not in FRACTIONS else None)
    named = 1 + (words[1:2] == ["-"]) if count else 0
    if named >= len(words) or (part := FRACTIONS.get(words[named])) is None:
        return None
    share, here = (count or 1.0) * part, named + 1
    whole = [word for word in words[here:] if word not in ("of", "a", "-")][:1]
    if whole and whole[0] in _OF_MANY:
        size = MAGNITUDES[whole[0]]
        return Numeral(share * size, share * size / 10, at + words.index(whole[0], here) + 1)
    follower = words[here] if here < len(words) else ""
    before = lexemes[at - 1].text if at else ""
    is_share = follower == "of" or before == "by" or (words[named] not in ("half", "quarter") and _ends(follower))
    if share >= 1 or not is_share or (not count and words[named] != "half"):
        return None
    kind = "percent" if follower != "of" else "left" if before == "to" else "share"
    return Numeral(share * 100, 2, at + here, kind)


def _ends(follower: str) -> bool:
    return not follower[:1].isalnum() or follower in STOP


def _rank(lexemes: list[Lexeme], at: int) -> Numeral | None:
    if not (rank := _RANKS.get(lexemes[at].text)):
        return None
    before = lexemes[at - 1] if at else None
    after = lexemes[at + 1].text if at + 1 < len(lexemes) else ""
    if before and (before.text in _NO_RANK_BEFORE or before.kind == "number" or before.text in NUMBER_WORDS):
        return None  # 30 a second, a third shop, two fifths
    if (
        before
        and before.text == "-"
        and at > 1
        and (lexemes[at - 2].kind == "number" or lexemes[at - 2].text in NUMBER_WORDS)
    ):
        return None  # a 30-second film, twenty-second
    return None if after in _NO_RANK_AFTER else Numeral(rank, 1, at + 1, "rank")


def _ratio(lexemes: list[Lexeme], part: Numeral) -> Numeral | None:
    """ "Nine in ten" and "9 out of 10" are 90 percent."""
    words = [lexeme.text for lexeme in lexemes[part.after : part.after + 2]]
    joint = 2 if words == ["out", "of"] else 1 if words[:1] == ["in"] else 0
    there = part.after + joint
    if not joint or part.unit or there >= len(lexemes) or lexemes[there].kind not in ("number", "word"):
        return None
    whole = _whole(lexemes, there)
    if not whole or whole.value not in _RATIO_OF or not 0 < part.value < whole.value or part.value % 1:
        return None
    if whole.after < len(lexemes) and (lexemes[whole.after].text in UNITS or lexemes[whole.after].text == "star"):
        return None
    return Numeral(100 * part.value / whole.value, 1, whole.after, "percent")


def _spelt(lexemes: list[Lexeme], at: int) -> Numeral | None:
    total, current, here, scaled = 0.0, 0.0, at, False
    while here < len(lexemes):
        word = lexemes[here].text
        if word in NUMBER_WORDS:
            current += NUMBER_WORDS[word]
        elif word == "hundred" and current:
            current, scaled = current * 100, True
        elif word in ("thousand", "million", "billion", "dozen") and current:
            total, current, scaled = total + current * MAGNITUDES[word], 0.0, True
        elif (
            not (current or total)
            or not (_is_hyphen(lexemes, here) or (word == "and" and scaled))
            or here + 1 >= len(lexemes)
            or lexemes[here + 1].text not in NUMBER_WORDS
        ):
            break
        here += 1
    value = total + current
    follower = lexemes[here].text if here < len(lexemes) else ""
    if here == at or value == 0 or (value == 1 and follower not in UNITS):
        return None  # "one of the", "zero" (which is a denial)
    if [lexeme.text for lexeme in lexemes[here : here + 3]] == ["and", "a", "half"]:
        return Numeral(value + 0.5, 0.5, here + 3)
    return Numeral(value, value if scaled and not current else 1, here)


def _is_hyphen(lexemes: list[Lexeme], at: int) -> bool:
    return lexemes[at].text == "-" and lexemes[at - 1].text.endswith("ty")


def _digits(text: str) -> tuple[float, float]:
    grouped = re.fullmatch(r"(\d{1,3}(?:[,.'’\u202f\u00a0]\d{3})+)(?:[.,](\d+))?", text)
    whole, fraction = (
        (re.sub(r"\D", "", grouped[1]), grouped[2] or "") if grouped else (*re.split("[.,]", text), "")[:2]
    )
    return float(f"{whole}.{fraction or 0}"), 10.0 ** -len(fraction)


def _magnified(lexemes: list[Lexeme], at: int, value: float, step: float) -> Numeral:
    if at < len(lexemes) and (word := lexemes[at].text) in MAGNITUDES:
        attached = lexemes[at].start == lexemes[at - 1].end
        money = any(lexeme.text in CURRENCIES for lexeme in lexemes[max(0, at - 2) : at + 2])
        if len(word) > 1 or attached or money:
            return Numeral(value * MAGNITUDES[word], step * MAGNITUDES[word], at + 1)
    return Numeral(value, step, at)
