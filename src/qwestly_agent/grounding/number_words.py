"""Numbers in words, as far as `text2num` reads them: a run of number words is read whole or not at all."""

import re
from collections.abc import Iterator
from functools import lru_cache

from text_to_num import alpha2digit, text2num

from qwestly_agent.grounding.units import COMPOUNDS, FRACTIONS

WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
UNREAD = re.compile(rf"(?<!\w)(?:{FRACTIONS}|{COMPOUNDS})(?!\w)", re.IGNORECASE)
COMPOUND = re.compile(COMPOUNDS, re.IGNORECASE)
_AND = re.compile(r"\s+(?:and|et|y|e|und|en)\s+", re.IGNORECASE)
GLUE = re.compile(
    r"[\s-]+(?:(?:and|et|y|e|und|en)\s+)?(?:(?:an?|une?|un[oa]?|uma?|ein\w{0,2}|of|de|di|d['’])\s*){0,2}", re.IGNORECASE
)
_POINT = re.compile(r"\s+(?:point|komma|virgule|coma|punto|vírgula|ponto|virgola|komma)\s+", re.IGNORECASE)
_TWO_MEANINGS = {"fr": {"neuf", "neufs"}, "it": {"sei"}, "es": {"uno"}, "en": set(), "de": {"acht"}, "nl": {"acht"}}


def word_figures(text: str, language: str, taken: bytearray) -> Iterator[tuple[int, int, bool]]:
    """Start, end, and whether it is left unread; numbers next to each other are one figure."""
    parts = [
        (*match.span(), False)
        for match in WORD.finditer(text)
        if not any(taken[match.start() : match.end()]) and is_number_word(match[0], language)
    ]
    parts += [(*match.span(), True) for match in UNREAD.finditer(text) if not any(taken[match.start() : match.end()])]
    runs: list[tuple[int, int, bool]] = []
    for start, end, unread in sorted(parts):
        if runs and start < runs[-1][1]:
            continue
        if runs and (joined := _join(text, runs[-1], (start, end, unread), language)):
            runs[-1] = joined
        else:
            runs.append((start, end, unread))
    yield from runs


def _join(
    text: str, run: tuple[int, int, bool], part: tuple[int, int, bool], language: str
) -> tuple[int, int, bool] | None:
    gap = text[run[1] : part[0]]
    whole = text[run[0] : part[1]]
    if run[2] or part[2]:
        return (run[0], part[1], True) if GLUE.fullmatch(gap) else None
    if _POINT.fullmatch(gap):
        return (run[0], part[1], True)
    if _AND.fullmatch(gap):
        return (run[0], part[1], False) if value_of(whole, language) is not None else None
    return (run[0], part[1], value_of(whole, language) is None) if re.fullmatch(r"[\s-]+", gap) else None


def value_inside(words: str, language: str) -> bool:
    """Whether some number word stands in what is left unread: then it is a figure, with a unit or without."""
    return any(is_number_word(word[0], language) for word in WORD.finditer(words))


def is_number_word(word: str, language: str) -> bool:
    return value_of(word, language) is not None and word.lower() not in _TWO_MEANINGS.get(language, ())


@lru_cache(maxsize=4096)
def value_of(words: str, language: str) -> int | None:
    if not language:
        return None
    plain = " ".join(words.lower().split())
    try:
        return int(text2num(plain, language))
    except (ValueError, OverflowError):
        ordinal = re.fullmatch(r"(\d+)\D{1,3}", alpha2digit(plain, language)) if " " not in plain else None
        return int(ordinal[1]) if ordinal and int(ordinal[1]) > 2 and not UNREAD.fullmatch(plain) else None
