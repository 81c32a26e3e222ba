"""Compare two groups of users by ratios of sums, for example failed turns by turns.

Turns of one person are alike, so that the person, not the turn, is what varies independently: the variance of a ratio
is that of its users' residuals (the delta method, Deng, Knoblich and Lu 2018).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import erfc, inf, sqrt


@dataclass(frozen=True)
class Ratio:
    value: float
    variance: float
    of: float
    """The sum below the line."""


def ratio(pairs: Iterable[tuple[float, float]]) -> Ratio | None:
    """The ratio of the sums of these pairs, one a user; None without two users who have something below the line."""
    users = [each for each in pairs if each[1] > 0]
    above, below = sum(each[0] for each in users), sum(each[1] for each in users)
    count = len(users)
    if count < 2:
        return None
    value = above / below
    squares = sum((part - value * whole) ** 2 for part, whole in users)
    return Ratio(value, squares * count / (count - 1) / below**2, below)


def p_worse(variant: Ratio, base: Ratio) -> float:
    """One-sided: how probable so much more is, if both are equal."""
    more, deviation = variant.value - base.value, sqrt(variant.variance + base.variance)
    if not deviation:
        return 0.0 if more > 0 else 1.0
    return erfc(more / deviation / sqrt(2)) / 2


def p_share(with_variant: int, of: int, share: float) -> float:
    """Two-sided: how probable such a number of users is, if each has the variant with this chance."""
    if not of or not 0 < share < 1:
        return 1.0
    distance = abs(with_variant - of * share) / sqrt(of * share * (1 - share)) if of else inf
    return erfc(distance / sqrt(2))
