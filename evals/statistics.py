"""Confidence intervals and tests for rates."""

from math import comb, sqrt

Z_95 = 1.959963984540054
"""Between minus and plus this many standard deviations lie 95 % of a normal distribution."""


def wilson(found: int, of: int) -> tuple[float, float]:
    """The 95 % score interval (Wilson 1927) of a rate; anything between 0 and 1 where nothing was asked."""
    if not of:
        return 0.0, 1.0
    rate, z2 = found / of, Z_95**2
    middle = rate + z2 / (2 * of)
    spread = Z_95 * sqrt(rate * (1 - rate) / of + z2 / (4 * of * of))
    low, high = (middle - spread) / (1 + z2 / of), (middle + spread) / (1 + z2 / of)
    # Undo the rounding of floats at an exact 0 or 1.
    return (low if found else 0.0), (high if found < of else 1.0)


def mcnemar(lost: int, won: int) -> float:
    """The two-sided exact p (McNemar 1947, by the binomial) of pairs that changed one way and the other."""
    changed = lost + won
    if not changed:
        return 1.0
    tail = sum(comb(changed, count) for count in range(min(lost, won) + 1)) / 2**changed
    return min(1.0, 2 * tail)
