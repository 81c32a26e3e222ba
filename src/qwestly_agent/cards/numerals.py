"""The value of a number that is written: 12, 4.5m, 1,200,000, twelve, half a million, four and a half."""

import re
from dataclasses import dataclass

from qwestly_agent.cards.lexicon import CURRENCIES, MAGNITUDES, MULTIPLES, NUMBER_WORDS, UNITS


@dataclass(frozen=True)
class Lexeme:
    kind: str
    text: str
    start: int
    end: int


def number_at(lexemes: list[Lexeme], at: int) -> tuple[float, float, int]:
    """The number that begins here, its step, and the place after it: the same place if none begins."""
    first = lexemes[at]
    if first.text in MULTIPLES:
        return MULTIPLES[first.text], 0.01, at + 1
    if first.kind == "number":
        value, step = _digits(first.text)
        return _magnified(lexemes, at + 1, value, step)
    if first.kind != "word":
        return 0, 0, at
    words = [lexeme.text for lexeme in lexemes[at : at + 9]]
    if first.text == "half" and words[1:3] == ["a", "million"]:
        return 5e5, 1e5, at + 3
    if first.text in ("a", "an") and len(words) > 1:
        if words[1] in ("decade",):
            return 1, 1, at + 1
        return (
            (*_scale(words[1]), at + 2)
            if words[1] in ("hundred", "thousand", "million", "billion", "dozen")
            else (0, 0, at)
        )
    return _spelt(lexemes, at)


def _spelt(lexemes: list[Lexeme], at: int) -> tuple[float, float, int]:
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
        return 0, 0, at  # "one of the", "zero" (which is a denial)
    if [lexeme.text for lexeme in lexemes[here : here + 3]] == ["and", "a", "half"]:
        return value + 0.5, 0.5, here + 3
    return value, value if scaled and not current else 1, here


def _is_hyphen(lexemes: list[Lexeme], at: int) -> bool:
    return lexemes[at].text == "-" and lexemes[at - 1].text.endswith("ty")


def _digits(text: str) -> tuple[float, float]:
    grouped = re.fullmatch(r"(\d{1,3}(?:[,.'’\u202f\u00a0]\d{3})+)(?:[.,](\d+))?", text)
    whole, fraction = (
        (re.sub(r"\D", "", grouped[1]), grouped[2] or "") if grouped else (*re.split("[.,]", text), "")[:2]
    )
    return float(f"{whole}.{fraction or 0}"), 10.0 ** -len(fraction)


def _scale(word: str) -> tuple[float, float]:
    return MAGNITUDES[word], MAGNITUDES[word]


def _magnified(lexemes: list[Lexeme], at: int, value: float, step: float) -> tuple[float, float, int]:
    if at < len(lexemes) and (word := lexemes[at].text) in MAGNITUDES:
        attached = lexemes[at].start == lexemes[at - 1].end
        money = any(lexeme.text in CURRENCIES for lexeme in lexemes[max(0, at - 2) : at + 2])
        if len(word) > 1 or attached or money:
            return value * MAGNITUDES[word], step * MAGNITUDES[word], at + 1
    return value, step, at
