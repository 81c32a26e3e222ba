"""Confidence intervals and tests for rates."""

from math import comb, sqrt

Z_95 = 1.959963984540054
"""95 % of a normal distribution lie within this many standard deviations of its mean."""


def wilson(found: int, of: int) -> tuple[float, float]:
    """Return the 95 % score interval (Wilson 1927) of a rate; (0, 1) if there are no samples."""
    if not of:
        return 0.0, 1.0
    rate, z2 = found / of, Z_95**2
    middle = rate + z2 / (2 * of)
    spread = Z_95 * sqrt(rate * (1 - rate) / of + z2 / (4 * of * of))
    low, high = (middle - spread) / (1 + z2 / of), (middle + spread) / (1 + z2 / of)
    # Undo the rounding of floats at an exact 0 or 1.
    return (low if found else 0.0), (high if found < of else 1.0)


def mcnemar(lost: int, won: int) -> float:
    """Return the two-sided exact p (McNemar 1947, binomial) of pairs that changed in one direction and in the other."""
    changed = lost + won
    if not changed:
        return 1.0
    tail = sum(comb(changed, count) for count in range(min(lost, won) + 1)) / 2**changed
    return min(1.0, 2 * tail)
