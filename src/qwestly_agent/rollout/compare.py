"""Compare two groups of users by ratios of sums, for example failed turns per turn.

Turns of one person are alike, so the independent unit is the person, not the turn. The variance of a ratio is that of
its users' residuals (the delta method, Deng, Knoblich and Lu 2018).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import erfc, inf, sqrt


@dataclass(frozen=True)
class Ratio:
    value: float
    variance: float
    of: float
    """The sum of the denominators."""


def ratio(pairs: Iterable[tuple[float, float]]) -> Ratio | None:
    """Return the ratio of the sums of these pairs, one per user; None with fewer than two nonzero denominators."""
    users = [each for each in pairs if each[1] > 0]
    above, below = sum(each[0] for each in users), sum(each[1] for each in users)
    count = len(users)
    if count < 2:
        return None
    value = above / below
    squares = sum((part - value * whole) ** 2 for part, whole in users)
    return Ratio(value, squares * count / (count - 1) / below**2, below)


def p_worse(variant: Ratio, base: Ratio) -> float:
    """Return the one-sided p-value of a difference this large, if both are equal."""
    more, deviation = variant.value - base.value, sqrt(variant.variance + base.variance)
    if not deviation:
        return 0.0 if more > 0 else 1.0
    return erfc(more / deviation / sqrt(2)) / 2


def p_share(with_variant: int, of: int, share: float) -> float:
    """Return the two-sided p-value of this number of users, if each gets the variant with this probability."""
    if not of or not 0 < share < 1:
        return 1.0
    distance = abs(with_variant - of * share) / sqrt(of * share * (1 - share)) if of else inf
    return erfc(distance / sqrt(2))
