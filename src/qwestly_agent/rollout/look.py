"""Decide on a trial by its counts: continue, go back, or hold."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import erfc, inf, sqrt

from qwestly_agent.domain.rollout import SHARES, Move, Trial

# --- compare ----------------------------------------------------------------------------------------------------------
# Compare two groups of users by ratios of sums, for example failed turns per turn.
#
# Turns of the same person are similar, so the independent unit is the person, not the turn. The variance of a ratio is
# that of its users' residuals (the delta method, Deng, Knoblich and Lu 2018).


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
    """Return the one-sided p-value of a difference this large if both groups are equal."""
    more, deviation = variant.value - base.value, sqrt(variant.variance + base.variance)
    if not deviation:
        return 0.0 if more > 0 else 1.0
    return erfc(more / deviation / sqrt(2)) / 2


def p_share(with_variant: int, of: int, share: float) -> float:
    """Return the two-sided p-value of this number of users if each user gets the variant with probability `share`."""
    if not of or not 0 < share < 1:
        return 1.0
    distance = abs(with_variant - of * share) / sqrt(of * share * (1 - share)) if of else inf
    return erfc(distance / sqrt(2))


# --- look -------------------------------------------------------------------------------------------------------------
# A leg is tested only once, when it has its minimum: hourly tests would reject most variants that are no worse, because
# some hour looks bad by chance. Only a coarse check for emergencies runs all the time.


Counts = Mapping[str, float]
"""The counts of one user, or of all users together, in one leg."""

LEG_SECONDS = 7 * 86_400.0
"""A leg lasts at least a week, because users differ between weekdays and weekends."""
MINIMUM_TURNS, MINIMUM_USERS = 2_000, 200
"""Minimum number of turns and users, for the variant and the baseline each. With these, an increase in errors from 2 %
to 8 % is detected in 999 of 1,000 trials."""
EMERGENCY_TURNS = 200
MOST_ERRORS = 0.05
OWN_FIRST_TEXT_MS = 1_000.0
"""A first text that takes longer is slow. If more than 5 % are slow, the p95 exceeds this limit."""


@dataclass(frozen=True)
class Measure:
    name: str
    above: str
    """Names of the counts in the numerator (`above`) and the denominator (`below`)."""
    below: str
    limit: float | None = None
    """The allowed maximum; None if the measure is only compared with the baseline."""
    fewest: float = 0.0
    """Minimum denominator of variant and baseline, below which they are not compared."""
    unit: str = "%"


MEASURES = (
    Measure("failed turns", "failed", "turns", limit=MOST_ERRORS),
    Measure("first texts above 1 s", "slow", "spoken", limit=0.05),
    Measure("cost of a conversation", "cost_usd", "conversations", limit=0.02, unit="$"),
    Measure("answers judged bad", "bad", "judged", limit=0.10, fewest=50),
    Measure("proposals denied", "denied", "decided", fewest=50),
    Measure("claims left out", "left_out", "claims", fewest=100),
)
CLEARLY = 1.25
"""For measures without a limit: a ratio this many times the baseline's is clearly worse, if significant."""

FALSE_ALARMS = 0.05
"""Maximum share of equally good variants that may be rejected. A fifth of it is reserved for the tests of shares and
emergencies."""
ALPHA = 0.8 * FALSE_ALARMS / (len(SHARES) * len(MEASURES))
SHARES_ALPHA = EMERGENCY_ALPHA = 0.001


@dataclass(frozen=True)
class Finding:
    move: Move
    why: tuple[str, ...]


def is_alarming(variant: Counts, base: Counts) -> bool:
    """True if the error rate has doubled and is above 5 %, in at least 200 turns."""
    turns, failed = variant.get("turns", 0), variant.get("failed", 0)
    return turns >= EMERGENCY_TURNS and failed > turns * MOST_ERRORS and failed >= 2 * turns * _usual(base)


def emergency(variant: Sequence[Counts], base: Sequence[Counts]) -> Finding | None:
    """Return a finding if errors are alarming and significant, based on the counts of each user. Checked at any time.

    In 200 turns by some 40 people, a single person for whom everything fails accounts for 5 %. Without the test of
    significance, a sixth of the trials of equally good variants would be stopped.
    """
    of_variant, of_base = _errors(variant), _errors(base)
    errors = _ratio(MEASURES[0], variant)
    if not errors or not is_alarming(of_variant, of_base):
        return None
    usual = _usual(of_base)
    if p_worse(errors, _ratio(MEASURES[0], base) or Ratio(usual, 0.0, 0.0)) >= EMERGENCY_ALPHA:
        return None
    journal_line = f"{_percent(errors.value)} of {of_variant['turns']:.0f} turns failed, the base's {_percent(usual)}"
    return Finding("back", (f"emergency: {journal_line}",))


def _errors(users: Sequence[Counts]) -> Counts:
    return {name: sum(each.get(name, 0) for each in users) for name in ("turns", "failed")}


def _usual(base: Counts) -> float:
    """Return the baseline's error rate, or the allowed rate if nobody has the baseline."""
    return base.get("failed", 0) / base["turns"] if base.get("turns") else MOST_ERRORS


def is_due(trial: Trial, variant: Counts, base: Counts, now: float) -> bool:
    """True once the leg has lasted long enough and both groups have reached their minimum."""
    return trial.state == "trying" and not missing(trial, variant, base, now)


def missing(trial: Trial, variant: Counts, base: Counts, now: float) -> tuple[str, ...]:
    """Describe what the leg still lacks before it can be tested."""
    left = trial.since + LEG_SECONDS - now
    lacks = [f"{left / 86_400:.1f} days"] if left > 0 else []
    for name, counts in (("variant", variant), ("base", base)):
        for what, minimum in (("turns", MINIMUM_TURNS), ("users", MINIMUM_USERS)):
            if (lacking := minimum - counts.get(what, 0)) > 0:
                lacks.append(f"{lacking:.0f} {what} of the {name}")
    return tuple(lacks)


def look(trial: Trial, variant: Sequence[Counts], base: Sequence[Counts]) -> Finding:
    """Test the leg, only once, based on the counts of each user."""
    if trial.share < 100 and p_share(len(variant), len(variant) + len(base), trial.share / 100) < SHARES_ALPHA:
        users = len(variant) + len(base)
        why = f"the shares do not match: {len(variant)} of {users} users have it, {trial.share} % should"
        return Finding("ended", (why, "what was counted cannot be trusted"))
    found = [compare_measure(each, variant, base) for each in MEASURES]
    worse = tuple(each.journal_line for each in found if each.verdict == "worse")
    beyond = tuple(each.journal_line for each in found if each.verdict == "beyond")
    journal_line = tuple(each.journal_line for each in found)
    if worse:
        return Finding("back", worse)
    if beyond:
        return Finding("held", (*beyond, "the base is no better: an operator decides"))
    return Finding("on" if trial.next_share else "kept", journal_line)


@dataclass(frozen=True)
class MeasureComparison:
    measure: Measure
    variant: Ratio | None
    base: Ratio | None

    @property
    def p(self) -> float | None:
        """Return the p-value for the variant being worse; None if there are too few counts."""
        if not self.variant or not self.base or min(self.variant.of, self.base.of) < self.measure.fewest:
            return None
        return p_worse(self.variant, self.base)

    @property
    def verdict(self) -> str:
        """`worse`: above the limit and clearly worse than the baseline · `beyond`: above the limit, but not worse ·
        `fine`."""
        if self.p is None or not self.variant or not self.base:
            return "fine"
        limit = CLEARLY * self.base.value if self.measure.limit is None else self.measure.limit
        if self.variant.value <= limit:
            return "fine"
        if self.p < ALPHA:
            return "worse"
        return "fine" if self.measure.limit is None else "beyond"

    @property
    def journal_line(self) -> str:
        """A line of the journal."""
        shown = f"{self.measure.name}: {self._formatted(self.variant)}, the base's {self._formatted(self.base)}"
        limit = "" if self.measure.limit is None else f", limit {_value(self.measure, self.measure.limit)}"
        return f"{shown}{limit} ({'too few to compare' if self.p is None else f'p = {self.p:.2g}'})"

    def _formatted(self, one: Ratio | None) -> str:
        return _value(self.measure, one.value) if one else "–"


def compare_measure(measure: Measure, variant: Sequence[Counts], base: Sequence[Counts]) -> MeasureComparison:
    return MeasureComparison(measure, _ratio(measure, variant), _ratio(measure, base))


def _ratio(measure: Measure, users: Sequence[Counts]) -> Ratio | None:
    return ratio((each.get(measure.above, 0.0), each.get(measure.below, 0.0)) for each in users)


def _value(measure: Measure, value: float) -> str:
    return f"${value:.4f}" if measure.unit == "$" else _percent(value)


def _percent(value: float) -> str:
    return f"{100 * value:.1f}%"
