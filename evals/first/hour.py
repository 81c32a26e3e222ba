"""Shared parts of a run's steps. A step is played in units, several at a time, each finished once."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, TypeVar
from unittest.mock import patch

from evals.first.gateway import Gateway
from evals.first.journal import Found, Journal
from evals.relay import upstreams_of
from evals.stage import Stage, run_stage
from evals.suite import OF_MODELS
from qwestly_agent.base.settings import Settings

T = TypeVar("T")
LONGEST_ERROR = 200
PROVIDER = "the provider answered with an error, or not at all"


@dataclass(frozen=True)
class Unit:
    """The smallest unit that is measured; `key` names it in the journal."""

    key: str
    run: Callable[[], Found]


@dataclass
class Hour:
    settings: Settings
    """Its models; its addresses and keys are the gateway's."""
    journal: Journal
    gateway: Gateway
    say: Callable[[str], None]
    most_cases: int | None = None
    """Maximum cases of each step; None for all."""
    public_sets: Sequence[Path] = ()
    exits: ExitStack = field(default_factory=ExitStack)
    _stage: Stage | None = None

    @property
    def stage(self) -> Stage:
        """The product on this machine, started once."""
        if self._stage is None:
            named = {name: getattr(self.settings, name) for name in OF_MODELS}
            here = Settings.from_env({"MONGODB_URI": "mongodb://none", "MONGODB_DATABASE": "none", **os.environ})
            self._stage = self.exits.enter_context(run_stage(upstreams_of(here), **named))
        return self._stage

    def some(self, cases: Sequence[T], at_most: int | None = None) -> list[T]:
        """Choose cases, evenly spread and the same in each run."""
        most = min(each for each in (at_most, self.most_cases, len(cases)) if each is not None)
        return [cases[at * len(cases) // most] for at in range(most)]

    @contextmanager
    def everything_through_the_gateway(self) -> Iterator[None]:
        # The product prints its metrics in Lambda's format.
        with (
            open(os.devnull, "w", encoding="utf-8") as nowhere,
            redirect_stdout(nowhere),
            patch.dict(os.environ, self.gateway.variables),
            self.exits,
        ):
            yield


Units: TypeAlias = Callable[[Hour], Sequence[Unit] | str]
"""A step's units, or a sentence about what it needs."""


@dataclass(frozen=True)
class Step:
    name: str
    share: float
    """The step's share of the limits in money and time; what it leaves is available to later ones."""
    units: Units
    at_once: int = 1
    measures_provider: bool = False
    """True if the provider's errors are what is measured; otherwise a unit with such an error is retried."""


def play(hour: Hour, step: Step) -> None:
    """Run the unfinished units, until a ceiling is reached. A unit's failure ends no other."""
    gateway, journal = hour.gateway, hour.journal
    gateway.step = step.name
    units = step.units(hour)
    if isinstance(units, str):
        journal.want(step.name, units)
        hour.say(f"{step.name}: not measured, {units}")
        return
    journal.want(step.name, "")
    left = iter([each for each in units if each.key not in journal.units])
    done, next_one = len(units) - len([each for each in units if each.key not in journal.units]), threading.Lock()
    if done:
        hour.say(f"{step.name}: {done} of {len(units)} were finished before")

    def work() -> None:
        nonlocal done
        while True:
            with next_one:
                unit = next(left, None)
            if unit is None or time.monotonic() > gateway.until:
                return
            refused, failed, found, why = gateway.refused, gateway.failed, None, ""
            try:
                found = unit.run()
            except Exception as error:  # a provider's or ours: it is named on the page
                why = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
            if gateway.refused > refused:
                return  # it met the ceiling, and shows nothing about the model
            if found and gateway.failed > failed and not step.measures_provider:
                why = "" if all(each.passed for each in found.outcomes) else PROVIDER
            if found and not why:
                journal.finish(unit.key, found)
            else:
                journal.fail(unit.key, why)
            with next_one:
                done += not why
                hour.say(
                    f"{step.name}: {done} of {len(units)}, ${journal.spent_usd:.2f}{why and f', {unit.key}: {why}'}"
                )

    with ThreadPoolExecutor(step.at_once, thread_name_prefix=step.name) as pool:
        try:
            for each in [pool.submit(work) for _ in range(step.at_once)]:
                each.result()
        except BaseException:
            gateway.until = 0.0  # threads end at their next request
            raise
