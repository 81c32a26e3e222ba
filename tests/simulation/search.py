"""Search schedules for one that breaks a rule: Hypothesis chooses and shrinks, and a code replays what it found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st

from tests.simulation.scheduler import Choices


class Played(Protocol):
    """A schedule that came to its end."""

    @property
    def script(self) -> Sequence[str]:
        """The acts with their actors and the faults of calls."""
        ...

    @property
    def broken(self) -> Sequence[str]:
        """Sentences about what does not hold."""
        ...


@dataclass(frozen=True)
class Found:
    schedule: int
    """Its number, before it was shrunk."""
    code: str
    script: Sequence[str]
    broken: Sequence[str]

    def __str__(self) -> str:
        told = (f"BROKEN: {each}" for each in self.broken)
        return "\n".join(
            [f"schedule {self.schedule}, again by: python -m tests.simulation {self.code}", *self.script, *told]
        )


class _Broken(Exception):
    pass


def search(play: Callable[[Choices], Played], schedules: int, seed: int, *, shrinks: bool = True) -> Found | None:
    """Return the first of so many schedules that breaks a rule, as short as it can be made; None if none does."""
    number, first, found = 0, 0, list[Found]()

    @hypothesis.seed(seed)
    @settings(
        max_examples=schedules,
        phases=[Phase.generate, *([Phase.shrink] if shrinks else [])],
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
    )
    @given(st.binary(min_size=Choices.LENGTH, max_size=Choices.LENGTH))
    def one(numbers: bytes) -> None:
        nonlocal number, first
        number += 1
        choices = Choices(numbers)
        played = play(choices)
        if played.broken:
            first = first or number
            found.append(Found(first, choices.code, played.script, played.broken))
            raise _Broken

    try:
        one()
    except _Broken:
        return found[-1]
    return None
