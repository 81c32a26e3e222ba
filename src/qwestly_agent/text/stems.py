"""Tokens of a text, their stems, and function words.

A word's stem is the same in every language, because notes are too short to detect theirs. It is the shortest that the
Snowball stemmers of five languages produce, applied until it no longer changes. On LoCoMo this finds as much as the
English stemmer alone.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from qwestly_agent.base.patterns import pattern
from qwestly_agent.text.language import function_words

_LANGUAGES = ("english", "german", "french", "spanish", "portuguese")
_MORE_FUNCTION_WORDS = (
    "what where how which whom whose why would could should can may might having"
    " was wer wem wen wo wohin woher wann warum wieso welche welcher welches kann soll habt seid"
    " quoi quel quelle quels quelles quand comment pourquoi peut ai as avons avez suis êtes ça"
    " qué quién cuál cuáles cómo dónde cuándo cuánto puede tiene tienen está están estoy soy"
    " quem qual quais onde quando quanto porquê pode tem têm está estou sou"
)
_NEGATIONS = "not no nicht ne pas sans sin não sem ohne"
_NO_WORD = pattern(r"[\W_]")
_UNSPACED = pattern(
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]+"
)
"""Runs of scripts without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, kana, Han."""


def tokens_of(text: str) -> list[str]:
    """Return the words in lower case after NFKC, without stemming or stop words; bigrams for scripts without spaces."""
    plain = _NO_WORD.sub(_mark_or_blank, unicodedata.normalize("NFKC", text).lower())
    if plain.isascii():
        return plain.split()
    return _UNSPACED.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", plain).split()


def stems_of(text: str) -> list[str]:
    """Return the stem of each token."""
    return [stem(token) for token in tokens_of(text)]


def indexed_words(text: str) -> str:
    """Return the stems under which a text is indexed."""
    return " ".join(stems_of(text))


def query_words(text: str) -> str:
    """Return the stems of a query, without function words unless it has no others."""
    return " ".join(content_stems(text) or stems_of(text))


def content_stems(text: str) -> list[str]:
    """Return the stems of the tokens that are not function words in any of five languages. Negations are kept."""
    return [stem(token) for token in tokens_of(text) if token not in _function_words()]


@lru_cache(maxsize=100_000)
def stem(token: str) -> str:
    while (shorter := min((each.stemWord(token) for each in _stemmers()), key=lambda each: (len(each), each))) != token:
        if len(shorter) < 2:
            break
        token = shorter
    return token


@cache
def _stemmers() -> tuple[Any, ...]:
    import Stemmer  # late, because most functions never stem

    return tuple(map(Stemmer.Stemmer, _LANGUAGES))


@cache
def _function_words() -> frozenset[str]:
    found = function_words("en", "de", "fr", "es", "pt") | frozenset(_MORE_FUNCTION_WORDS.split())
    return found - frozenset(_NEGATIONS.split())


def _mark_or_blank(found: re.Match[str]) -> str:
    # A vowel sign of Hindi or Thai does not match `\w`, but is part of a word.
    return found[0] if unicodedata.category(found[0]).startswith("M") else " "


def _pairs(run: str) -> Iterable[str]:
    return ("".join(pair) for pair in pairwise(run)) if len(run) > 1 else run
