"""Rank memories by importance and age, without a job that updates scores."""

import math

TAU_SECONDS = 90 * 86_400
LEAST_IMPORTANCE = 0.01


def salience(importance: float, created_at: float) -> float:
    """Return `ln(importance) + created_at/τ` for an importance in [0.01, 1] and seconds since the epoch.

    With exponential decay the order of `importance·e^(−age/τ)` never changes over time. So its logarithm, minus the
    term that all memories share, can be stored once and indexed.
    """
    return math.log(min(max(importance, LEAST_IMPORTANCE), 1.0)) + created_at / TAU_SECONDS


def present(stored_salience: float, now: float) -> float:
    """Convert a stored salience to the current `importance·e^(−age/τ)`."""
    return math.exp(min(0.0, stored_salience - now / TAU_SECONDS))
