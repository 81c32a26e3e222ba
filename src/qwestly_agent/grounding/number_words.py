"""Find numbers written in words, as far as `text2num` parses them. A run of number words is parsed completely or not at
all.

If the language is unknown, a word that is a number in some language is left unread.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from text_to_num import alpha2digit, text2num

from qwestly_agent.base.patterns import pattern
from qwestly_agent.grounding.digits import unit_after
from qwestly_agent.grounding.figure_words import ADJECTIVES, COMPOUNDS, FRACTIONS, NUMBER_LANGUAGES, SPELLINGS
from qwestly_agent.grounding.units import key

WORD = pattern(r"(?![dlDL]['’])[^\W\d_]+(?:[-'’][^\W\d_]+)*")
UNREAD = pattern(rf"(?<!\w)(?:{FRACTIONS}|{COMPOUNDS})(?!\w)", re.IGNORECASE)
COMPOUND = pattern(COMPOUNDS, re.IGNORECASE)
_AND = pattern(r"[\s-]+(?:and|et|y|e|und|en)[\s-]+", re.IGNORECASE)
GLUE = pattern(
    r"(?!\s*\n)[\s-]+(?:(?:and|et|y|e|und|en)\s+)?"
    r"(?:(?:an?|une?|un[oa]?|uma?|ein\w{0,2}|of|de|di|d['’])\s*){0,2}",
    re.IGNORECASE,
)
NOUN_GLUE = pattern(
    r"\s+[^\W\d_]+\s+(?:and|et|y|e|und|en)\s+(?:(?:an?|une?|un[oa]?|uma?|ein\w{0,2})\s+)?", re.IGNORECASE
)
"""Matches between a number and its fraction: "eighty-seven points and a half"."""
_POINT = pattern(r"\s+(?:point|komma|virgule|coma|punto|vírgula|ponto|virgola|komma)\s+", re.IGNORECASE)
_ADJECTIVE = pattern(rf"(\w{{3,}}?)-?(?:{ADJECTIVES})", re.IGNORECASE)
_TWO_MEANINGS = {"fr": {"neuf", "neufs"}, "it": {"sei"}, "es": {"uno"}}
"""Number words that are often other words. Next to a unit or a number they count as numbers."""
_ATTENTION = pattern(r"(?<!\w)(?:außer|in|gib|gibt|gab|hab|habt|gebt|slaan?|sla|slaat)\s$", re.IGNORECASE)
"""Words after which "acht" is not a number, in German and Dutch."""


def word_figures(text: str, language: str, taken: bytearray) -> Iterator[tuple[int, int, bool]]:
    """Yield start, end, and True if left unread. Adjacent numbers are one figure."""
    parts = [
        (*span, not language)
        for match in WORD.finditer(text)
        if not any(taken[match.start() : match.end()])
        for span in _numbers_in(match, language)
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
    if text.startswith("-", part[1]) and value_of(whole, language) is None:  # "twelve five-pound batches"
        return None
    return (run[0], part[1], value_of(whole, language) is None) if re.fullmatch(r"[\s-]+", gap) else None


def _numbers_in(word: re.Match[str], language: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a word that are numbers: all of "twenty-one", "three" in "three-year", "zwölf" in
    "zwölfköpfig"."""
    if value_of(word[0], language) is not None or is_number_word(word[0], language):
        may_be_none = key(word[0]) == "acht" and _ATTENTION.search(word.string, 0, word.start())
        if not (may_be_none or key(word[0]) in _TWO_MEANINGS.get(language, ())) or _is_beside_a_figure(word, language):
            yield word.span()
        return
    pieces = [(word.start() + piece.start(), word.start() + piece.end()) for piece in re.finditer(r"[^-]+", word[0])]
    if len(pieces) > 1:
        for i in range(len(pieces), 0, -1):
            start, end = word.start(), pieces[i - 1][1]
            if is_number_word(word.string[start:end], language):
                yield start, end
                return
    if language == "de" and (match := _ADJECTIVE.fullmatch(word[0])) and value_of(match[1], language) is not None:
        yield word.start(), word.start() + match.end(1)


def _is_beside_a_figure(word: re.Match[str], language: str) -> bool:
    before, behind = re.search(r"[^\W\d_]+\s$", word.string[: word.start()]), WORD.match(word.string, word.end() + 1)
    numbers = [f"{before[0]}{word[0]}"] if before else []
    numbers += [f"{word[0]} {behind[0]}"] if behind else []
    is_by_a_number = any(value_of(each, language) is not None for each in numbers)
    return is_by_a_number or unit_after(word.string, word.end(), language)[0] is not None


def contains_number_word(words: str, language: str) -> bool:
    """True if unread text contains a number word, and is therefore a figure even without a unit."""
    return any(is_number_word(word[0], language) for word in WORD.finditer(words))


def is_number_word(word: str, language: str) -> bool:
    if not language:  # a number above 1 in some language, which is left unread
        return any((value_of(word, each) or 0) > 1 for each in NUMBER_LANGUAGES)
    return value_of(word, language) is not None and key(word) not in _TWO_MEANINGS.get(language, ())


@lru_cache(maxsize=4096)
def value_of(words: str, language: str) -> int | None:
    if not language:
        return None
    plain = " ".join(words.lower().split())
    for typed, spelt in SPELLINGS.get(language, {}).items():
        plain = plain.replace(typed, spelt)
    try:
        return int(text2num(plain, language))
    except (ValueError, OverflowError):
        ordinal = re.fullmatch(r"(\d{1,30})\D{1,3}", alpha2digit(plain, language)) if " " not in plain else None
        return int(ordinal[1]) if ordinal and int(ordinal[1]) > 2 and not UNREAD.fullmatch(plain) else None
