"""Shared parts of all stories: who acts, in which process, and what was said and decided."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from qwestly_agent.approvals.decide import Decision
from qwestly_agent.base.settings import Settings
from qwestly_agent.domain.approval import DecidedBy
from tests.simulation.agent import AnyPlan
from tests.simulation.scheduler import Choices, Process
from tests.simulation.world import ADA, BEN, CONVERSATIONS, PEOPLE, Person, Version, World

T = TypeVar("T")

CHAT_SECONDS, REQUEST_SECONDS, SWEEP_SECONDS = 300.0, 60.0, 55.0
"""The time limits of the functions in template.yaml."""
SKEW = 8.0
"""More than all clocks together are wrong."""
EXPIRED = -400.0
"""Seconds to live of a token with which nothing may be done: not even what a turn asks for at its end."""


@dataclass(frozen=True)
class Decided:
    """A person's decision, with its time."""

    at: float
    by: DecidedBy
    decision: Decision


@dataclass
class Stage:
    """The stage of a schedule's stories."""

    world: World
    decided: dict[str, list[Decided]] = field(default_factory=dict[str, list[Decided]])
    """Valid decisions of each approval's owner."""
    paused: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    """Times when users were told that everything is paused."""
    leaving: set[str] = field(default_factory=set[str])
    """Users who asked for erasure, and act no more."""
    tasks: list["asyncio.Task[None]"] = field(default_factory=list[Any])
    """Long tasks, which are awaited at the end."""

    @property
    def choices(self) -> Choices:
        return self.world.choices

    @property
    def now(self) -> float:
        return self.world.scheduler.now

    def someone(self) -> Person:
        person = self.choices.one((ADA, ADA, ADA, BEN))
        return next((each for each in (person, *PEOPLE) if each.id not in self.leaving), person)

    def rivals(self, first: Callable[[], object], second: Callable[[], object]) -> None:
        """Two at nearly the same moment."""
        gap = self.choices.one((0.0, 0.005, 0.02, 0.05, 0.1, 0.2))

        async def run() -> None:
            await asyncio.sleep(gap)
            second()

        first()
        self.go_on(run())

    def go_on(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.get_running_loop().create_task(work))

    def somewhere(self) -> str:
        return self.choices.one((CONVERSATIONS[0], *CONVERSATIONS))

    def start(
        self,
        name: str,
        work: Callable[[Any], Coroutine[Any, Any, T]],
        limit: float,
        times: int = 1,
        settings: Settings | None = None,
        plan: AnyPlan = None,
    ) -> list[Process[T]]:
        """Start it; some requests are delivered twice."""

        async def run(process: Process[T]) -> T:
            return await work(self.world.services(process, settings, plan))

        return [self.world.scheduler.start(name, run, limit=limit) for _ in range(times)]

    def times(self) -> int:
        return (1, 1, 1, 1, 2)[self.choices.number(5)]

    def token_for(self, owner: str) -> tuple[str, bool]:
        """A token with which somebody asks for what is the owner's, and True if it is one of theirs that is valid."""
        match self.choices.number(16):
            case 1:
                other = next(each for each in PEOPLE if each.id != owner)
                return self.world.token(other.id), False
            case 2:
                return self.world.token(owner, EXPIRED), False
            case _:
                return self.world.token(owner), True

    def has_swept(self, begin: float, end: float) -> bool:
        """True if a sweep of which nothing went wrong began between these."""
        return any(
            each.name == "sweep" and begin < each.begun < end and each.ended >= 0 and not (each.faults or each.error)
            for each in self.world.scheduler.processes
        )

    def states(
        self, collection: str, key: str, read: Callable[[dict[str, Any]], T], nothing: T
    ) -> list[tuple[float, T]]:
        """Return the document's states with their times; `nothing` while it was missing."""
        versions = self.world.versions[collection].get(key, ())
        return [(-1.0, nothing), *((at, read(each) if each else nothing) for at, each, _ in versions)]


def were(history: list[tuple[float, T]], begin: float, end: float) -> list[T]:
    """The states at any moment between these."""
    before = [state for at, state in history if at <= begin]
    return [*before[-1:], *(state for at, state in history if begin < at <= end)]


@dataclass
class Story:
    """A part of what happens in a schedule, and what must hold of it."""

    stage: Stage

    @property
    def world(self) -> World:
        return self.stage.world

    @property
    def choices(self) -> Choices:
        return self.stage.choices

    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        """Acts with their weights, if it has any besides those of others. An act returns False if it has no subject
        yet."""
        return ()

    def check(self) -> Iterator[str]:
        """Return sentences about what does not hold."""
        raise NotImplementedError


def written(versions: list[Version]) -> list[tuple[float, dict[str, Any]]]:
    """Return the times of all versions but deletions."""
    return [(at, document) for at, document, _ in versions if document is not None]
