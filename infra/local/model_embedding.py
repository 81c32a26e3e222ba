"""Embeddings of the scripted model, computed from words and trigrams."""

import hashlib
import math
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a about am an and any are as at be been but by can could did do does for from had has have he how i if in "
        "into is it its me my no not of on or our s she so than that the their them then there these they this to us "
        "was we were what when where which who why will with would you your",
    )
)
TRIGRAM_WEIGHT = 0.25
DIMENSIONS = 1536


GERMAN = frozenset(
    re.findall(
        r"\w+",
        "ich mich mir mein meine meinen meinem meiner du dich dir dein deine wie wer wo wann warum der die "
        "das den dem ein eine einen einem und oder aber auf zu zum fur mit von vom bei im uber ist bin bist "
        "sind sei kann kannst soll muss nicht kein keine keinen hab habe haben hat wird werden wurde wirst "
        "will mal bitte gibt gibts es ja nein na hallo moin servus hilfe danke tschuss guten was am in so an",
    )
)
SPANISH = frozenset(
    re.findall(
        r"\w+",
        "que quien como donde cuando cuanto cual el la las los un una unos mi mis tu tus me te se lo le en a al de del "
        "por para con sin es son soy eres esta estas estoy estan hay ser muy mas pero y o si no yo nada algo "
        "esto eso he ha han hola ayuda gracias adios buenos buenas quiero puedo puedes tengo",
    )
)
"""Frequent words by which a text's language is detected."""
FREQUENT = GERMAN | SPANISH
COMMON_ELSEWHERE = frozenset(
    re.findall(
        r"\w+",
        "ich mich mir mein meine meinen du dich dir was wie wer der die das den dem ein eine einen und auf in zu fur "
        "mit uber ist bin kann soll es nicht que quien como el la los las un una mi mis me de en a por para lo es",
    )
)
"""Frequent words of German and Spanish that count less in a comparison."""


def language_of(text: str) -> str:
    """Return the language with the most of its frequent words in a text: english, german or spanish."""
    words = _plain_words(text)
    letters = {"english": "", "german": "äöüß", "spanish": "ñ¿¡áíóú"}
    frequent = {"english": STOP_WORDS, "german": GERMAN, "spanish": SPANISH}
    counts = {
        name: sum(word in each for word in words) + any(letter in text.lower() for letter in letters[name])
        for name, each in frequent.items()
    }
    other = max(("german", "spanish"), key=counts.__getitem__)
    return other if counts[other] > counts["english"] or counts[other] == counts["english"] > 1 else "english"


def has_words(text: str, phrase: str) -> bool:
    """Return whether a text has all words of a phrase; all but frequent words match in any inflection."""
    words = _plain_words(text)
    return all(
        word in words or (word not in FREQUENT and any(_are_forms(word, each) for each in words))
        for word in _plain_words(phrase)
    )


def _are_forms(one: str, other: str) -> bool:
    if one[0] != other[0]:
        return False
    shortest = max(4, min(len(one), len(other)) - 2)
    return abs(len(one) - len(other)) <= 4 and one[:shortest] == other[:shortest] and len(other) >= 4


@lru_cache(20_000)
def _plain_words(text: str) -> tuple[str, ...]:
    """Return the words of a text without accents. Each message is compared with each phrase of the examples."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(each))
    return tuple(re.findall(r"[^\W_]+", plain))


def embedding(text: str, dimensions: int) -> list[float]:
    """Return a unit vector whose cosine with another depends on shared words and, less, shared trigrams."""
    words = {_stem(word) for word in re.findall(r"[^\W_]+", text.lower()) if word not in STOP_WORDS} or {text.strip()}
    return _vector(dict.fromkeys(words, 1.0), dimensions)


def phrase_embedding(text: str, common: float = 0.35) -> list[float]:
    """Return the embedding of a phrase in any supported language: frequent words count as well, but less."""
    words = _plain_words(text) or (text.strip(),)
    return _vector(
        {_stem(word): common if word in STOP_WORDS | COMMON_ELSEWHERE else 1.0 for word in words}, DIMENSIONS
    )


def _vector(weights: Mapping[str, float], dimensions: int) -> list[float]:
    vector = [0.0] * dimensions
    for word, weight in sorted(weights.items()):
        _add(vector, f"word {word}", weight)
        padded = f" {word} "
        for i in range(len(padded) - 2):
            _add(vector, f"letters {padded[i : i + 3]}", weight * TRIGRAM_WEIGHT)
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector]


def _add(vector: list[float], feature: str, weight: float) -> None:
    # The random sign makes collisions cancel out instead of adding up to similarity.
    digest = _digest(feature)
    vector[(digest >> 1) % len(vector)] += weight if digest & 1 else -weight


@lru_cache(50_000)
def _digest(feature: str) -> int:
    return int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest())


def _stem(word: str) -> str:
    for ending, instead, shortest in (("ies", "y", 5), ("ing", "", 6), ("ed", "", 5), ("es", "", 5), ("s", "", 4)):
        if word.endswith(ending) and not word.endswith("ss") and len(word) >= shortest:
            return word.removesuffix(ending) + instead
    return word
