"""Embeddings of the scripted model, computed from words and trigrams."""

import hashlib
import math
import re

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a about am an and any are as at be been but by can could did do does for from had has have he how i if in "
        "into is it its me my no not of on or our s she so than that the their them then there these they this to us "
        "was we were what when where which who why will with would you your",
    )
)
TRIGRAM_WEIGHT = 0.25


def embedding(text: str, dimensions: int) -> list[float]:
    """Return a unit vector whose cosine with another depends on shared words and, less, shared trigrams."""
    vector = [0.0] * dimensions
    words = {_stem(word) for word in re.findall(r"[^\W_]+", text.lower()) if word not in STOP_WORDS} or {text.strip()}
    for word in sorted(words):
        _add(vector, f"word {word}", 1.0)
        padded = f" {word} "
        for i in range(len(padded) - 2):
            _add(vector, f"letters {padded[i : i + 3]}", TRIGRAM_WEIGHT)
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
