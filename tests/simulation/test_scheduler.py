"""The scheduler runs whatever is written as coroutines: here, the mails of a day and the start of a job search."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from pymongo.errors import AutoReconnect, NetworkTimeout

from qwestly_agent.stores.briefings import Briefings
from qwestly_agent.stores.jobs import JobSearches
from tests.simulation.database import Database, Tables
from tests.simulation.scheduler import SLOW_BEFORE, Choices, Kind, Process, Scheduler
from tests.simulation.search import search

DATABASE = Kind(error=lambda: NetworkTimeout("no answer"), refused=lambda: AutoReconnect("no server"), patience=3.0)
MOST_MAILS = 2


@dataclass
class Run:
    """Several processes that do the same, each with its own connection to the database."""

    choices: Choices
    work: Callable[[Any], Coroutine[Any, Any, bool]]
    most: int
    broken: list[str] = field(default_factory=list[str])

    def play(self) -> "Run":
        self.scheduler = Scheduler(self.choices)
        tables = Tables(lambda: self.scheduler.now)

        async def main() -> None:
            database = Database(
                tables, lambda name, effect, *, writes: self.scheduler.call(name, effect, DATABASE, writes=writes)
            )
            for _ in range(4):
                self.scheduler.start("one of several", lambda _: self.work(database), limit=60.0)
            await self.scheduler.settled()

        self.scheduler.run(main())
        done = [each for each in self.scheduler.processes if each.result]
        self.broken = [f"{len(done)} did it"] if len(done) > self.most else []
        return self

    @property
    def script(self) -> list[str]:
        return self.scheduler.script


async def _mail(database: Any) -> bool:
    return await Briefings(database).count_mail("2027-01-01", MOST_MAILS)


async def _begin(database: Any) -> bool:
    return await JobSearches(database).begin("ada", "run", 1.0)


async def _begin_blindly(database: Any) -> bool:
    """As `begin`, without its compare-and-set."""
    searches = JobSearches(database)
    if (await searches.get("ada")).run_id == "run":
        return False
    await cast(Any, searches)._set("ada", run_id="run", status="searching", moved_at=1.0)
    return True


@pytest.mark.parametrize(("work", "most"), [(_mail, MOST_MAILS), (_begin, 1)])
def test_no_more_processes_than_allowed_act(work: Callable[[Any], Coroutine[Any, Any, bool]], most: int) -> None:
    assert search(lambda choices: Run(choices, work, most).play(), 200, 0) is None


def test_a_race_is_detected() -> None:
    found = search(lambda choices: Run(choices, _begin_blindly, 1).play(), 200, 0)
    assert found is not None


def test_a_killed_process_does_nothing_more() -> None:
    scheduler, done = Scheduler(Choices.of("x")), list[str]()

    async def work(process: Process[None]) -> None:
        await scheduler.call("first", lambda: done.append("first"), DATABASE)
        try:
            await scheduler.call("second", lambda: done.append("second"), DATABASE)
        finally:
            done.append("cleaned up")

    async def main() -> None:
        scheduler.placed["work", "second", 1] = SLOW_BEFORE, 1.0
        scheduler.start("work", work, limit=0.5)
        await scheduler.settled()
        assert done == ["first"]

    scheduler.run(main())
