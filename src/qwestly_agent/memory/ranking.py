"""Which memories matter now, without a job that decays scores."""

import math

from qwestly_agent.memory.model import Score

TAU_SECONDS = 90 * 86_400
LEAST_IMPORTANCE = 0.01

MEANING, WORDS, SALIENCE = 0.6, 0.25, 0.15
"""The parts of a search's score."""


def salience(importance: float, created_at: float) -> float:
    """`ln(importance) + created_at/τ` for an importance in [0.01, 1] and seconds since the epoch.

    With exponential decay the order of `importance·e^(−age/τ)` never changes as time goes by, so its logarithm, less
    the part that all memories share, can be stored once and indexed.
    """
    return math.log(min(max(importance, LEAST_IMPORTANCE), 1.0)) + created_at / TAU_SECONDS


def blended(meaning: float, words: float, stored_salience: float, now: float) -> Score:
    """The weighted sum of the parts; what is stored of salience decays to `importance·e^(−age/τ)` of this moment."""
    meaning = min(max(meaning, 0.0), 1.0)
    present = math.exp(min(0.0, stored_salience - now / TAU_SECONDS))
    total = MEANING * meaning + WORDS * words + SALIENCE * present
    return Score(meaning=round(meaning, 4), words=round(words, 4), salience=round(present, 4), total=round(total, 4))
