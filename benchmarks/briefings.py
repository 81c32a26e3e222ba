"""Count what the sweep of briefings costs, by how many users are due within an hour.

Counted at the driver: commands to the database and documents that it sent, in the sweep alone. Half of the users have
something new. Each of these is one execution; `python -m benchmarks.briefings` prints what follows for 100,000.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pymongo import monitoring

from benchmarks.figures import Row, Target, table
from infra.mongo.indexes import INDEXES
from qwestly_agent.bootstrap import bootstrap
from qwestly_agent.briefings.sweep import begin_if_due
from qwestly_agent.domain.activity import of_memory
from qwestly_agent.services import Services
from tests.servers import FakeClock, mongo_server, settings_for

SIZES = (250, 500, 1_000)
ALL = 100_000
DAY = 86_400.0
AT_ONCE = 40
TRANSITIONS, USD_A_TRANSITION = 6, 25 / 1_000_000


class Counted(monitoring.CommandListener):
    """Commands, and the documents that they brought."""

    def __init__(self) -> None:
        self.commands = self.documents = 0

    def started(self, event: monitoring.CommandStartedEvent) -> None:  # noqa: ARG002
        self.commands += 1

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        cursor = event.reply.get("cursor", {})
        self.documents += len(cursor.get("firstBatch", [])) + len(cursor.get("nextBatch", []))

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        pass


class Executions:
    """Those that were begun; none runs."""

    def __init__(self) -> None:
        self.begun: dict[str, Any] = {}

    async def start(self, machine_arn: str, name: str, given: Mapping[str, Any]) -> None:  # noqa: ARG002
        self.begun[name] = given


def measure() -> dict[str, Any]:
    counted = Counted()
    monitoring.register(counted)
    with mongo_server() as (uri, _):
        return {str(size): asyncio.run(_measure(uri, size, counted)) for size in SIZES}


async def _measure(uri: str, size: int, counted: Counted) -> dict[str, float]:
    clock, executions = FakeClock(), Executions()
    database = f"briefings_{size}"
    opened = await bootstrap(settings_for(uri, "http://127.0.0.1:9", database), clock=clock)
    try:
        for name, indexes in INDEXES.items():
            await opened.mongo[database][name].create_indexes(indexes)
        services: Any = replace(opened, workflows=executions)
        users = [f"auth0|user-{number:06}" for number in range(size)]
        for number, user_id in enumerate(users):
            await _plan(services, user_id, clock(), is_new=bool(number % 2))
        clock.advance(DAY)
        due = await services.sweeps.due_briefings(clock(), size)
        counted.commands = counted.documents = 0
        begun, places = time.process_time(), asyncio.Semaphore(AT_ONCE)

        async def begin(user_id: str) -> None:
            async with places:
                await begin_if_due(services, user_id)

        await asyncio.gather(*map(begin, due))
        seconds = time.process_time() - begun
        left = await services.sweeps.due_briefings(clock(), size)
        return {
            "users": len(due) - len(left),
            "executions": len(executions.begun),
            "commands_a_user": counted.commands / size,
            "documents_a_user": counted.documents / size,
            "ms_a_user": 1_000 * seconds / size,
            "usd_a_user": cost(len(executions.begun)) / size,
        }
    finally:
        await opened.close()


async def _plan(services: Services, user_id: str, now: float, *, is_new: bool) -> None:
    await services.briefing_plans.change(user_id, {"on": True}, now)
    await services.briefing_plans.plan(user_id, now)
    if is_new:
        await services.activity.add(of_memory("remembered", user_id, f"{user_id}:memory", now + 1))


def cost(executions: int) -> float:
    return executions * TRANSITIONS * USD_A_TRANSITION


def rows(found: dict[str, Any]) -> Iterator[Row]:
    """Linear: of a thousand users one costs what one of 250 costs."""
    least, most = found[str(SIZES[0])], found[str(SIZES[-1])]
    for size in SIZES:
        of, name = found[str(size)], f"{size:,} users due"
        grown = Target("of 250 users", of["commands_a_user"] / least["commands_a_user"], at_most=1.1)
        yield Row(name, "commands a user", of["commands_a_user"], None, grown)
        read = Target("of 250 users", of["documents_a_user"] / least["documents_a_user"], at_most=1.1)
        yield Row(name, "documents read a user", of["documents_a_user"], None, read)
        yield Row(name, "ms of a processor a user", of["ms_a_user"])
        yield Row(name, "executions", of["executions"])
        yield Row(name, "USD a user", of["usd_a_user"])
    yield Row(f"{ALL:,} users, by count", "commands a second over an hour", most["commands_a_user"] * ALL / 3_600)
    yield Row(f"{ALL:,} users, by count", "executions", most["executions"] / most["users"] * ALL)
    yield Row(f"{ALL:,} users, by count", "USD a morning", most["usd_a_user"] * ALL)


if __name__ == "__main__":
    print(table((__doc__ or "").partition("\n")[0], list(rows(measure()))))
