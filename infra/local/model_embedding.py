"""Embeddings of the scripted model, computed from words and trigrams."""

import hashlib
import math
import re
import unicodedata
from collections.abc import Mapping

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


COMMON_ELSEWHERE = frozenset(
    re.findall(
        r"\w+",
        "ich mich mir mein meine meinen du dich dir was wie wer der die das den dem ein eine einen und auf in zu fur "
        "mit uber ist bin kann soll es nicht que quien como el la los las un una mi mis me de en a por para lo es",
    )
)
"""Frequent words of German and Spanish."""


def embedding(text: str, dimensions: int) -> list[float]:
    """Return a unit vector whose cosine with another depends on shared words and, less, shared trigrams."""
    words = {_stem(word) for word in re.findall(r"[^\W_]+", text.lower()) if word not in STOP_WORDS} or {text.strip()}
    return _vector(dict.fromkeys(words, 1.0), dimensions)


def phrase_embedding(text: str, common: float = 0.35) -> list[float]:
    """Return the same of a phrase in any of some languages: frequent words count as well, but less."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(each))
    words = re.findall(r"[^\W_]+", plain) or [text.strip()]
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
    digest = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest())
    vector[(digest >> 1) % len(vector)] += weight if digest & 1 else -weight


def _stem(word: str) -> str:
    for ending, instead, shortest in (("ies", "y", 5), ("ing", "", 6), ("ed", "", 5), ("es", "", 5), ("s", "", 4)):
        if word.endswith(ending) and not word.endswith("ss") and len(word) >= shortest:
            return word.removesuffix(ending) + instead
    return word
