"""Measure what a night of job searches costs: `python -m benchmarks.scouting [USERS…]`.

Each user has 200 adverts of their own, so that nobody is helped by what was asked for another one, and no quota of a
board ends the night. The states run one after the other as the state machine calls them, without its watch of the
brake, against the laptop's database and the scripted model. Counted are commands to the database, documents that it
returned, and requests to models; the cost is what was added to each user's day, with the scripted model's tokens at
list prices.
"""

import argparse
import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pymongo import monitoring

from benchmarks.figures import Row, Target, table
from infra.local.model_server import ModelServer
from infra.mongo.indexes import INDEXES
from qwestly_agent.bootstrap import bootstrap_models
from qwestly_agent.clients.job_boards import JobBoards, JobQuery
from qwestly_agent.domain.job import Advert, Board, JobWishes
from qwestly_agent.jobs.check import check
from qwestly_agent.jobs.find import find
from qwestly_agent.jobs.keep import keep
from qwestly_agent.jobs.rank import rank
from qwestly_agent.jobs.scout_state import MOST_REQUESTS, ScoutState
from qwestly_agent.services import ModelServices
from tests.servers import mongo_server, settings_for

SIZES = (250, 500, 1_000)
TITLES, OF_A_TITLE = ("Backend Engineer", "Python Developer", "Platform Engineer", "Data Engineer"), 50
ADVERTS = len(TITLES) * OF_A_TITLE
SAID = "Built payment services in Python on AWS Lambda for six years."
NOW = 1_800_000_000.0
STATES = (find, rank, check, keep)


@dataclass
class Counting(monitoring.CommandListener):
    commands: int = 0
    documents: int = 0

    def started(self, event: monitoring.CommandStartedEvent) -> None:  # noqa: ARG002
        self.commands += 1

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        cursor: dict[str, Any] = event.reply.get("cursor") or {}
        self.documents += len(cursor.get("firstBatch") or cursor.get("nextBatch") or ())

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        pass


@dataclass(frozen=True)
class OwnBoard:
    """Fifty adverts for each question, of companies that no other question finds."""

    name: Board = "jsearch"
    title: str = "JSearch"

    async def search(self, query: JobQuery, now: float) -> list[Advert]:
        return [
            Advert(
                id=f"jsearch:{query.words} {number}",
                title=query.words.rpartition(" of ")[0],
                company=f"Company {number} for {query.words}",
                place="Berlin, Germany",
                text=f"We run payment services for {number + 2} banks.\nWe ask for: years of Python in production.\n"
                + "Colleagues from nine countries work in small teams and decide together what comes next. " * 20,
                language="en",
                board=self.name,
                seen_at=now,
            )
            for number in range(OF_A_TITLE)
        ]


@dataclass(frozen=True)
class Night:
    """Averages a user, and the largest number of requests to models for one."""

    users: int
    commands: float
    documents: float
    most_requests: int
    cost_usd: float
    kept: float
    cpu_seconds: float
    """Of this process, in which the scripted model runs as well."""


async def measure(users: int, model: ModelServer) -> Night:
    counting = Counting()
    monitoring.register(counting)
    with mongo_server() as (uri, _):
        services = await bootstrap_models(settings_for(uri, model.base_url, job_board_quotas=""), clock=lambda: NOW)
        services = replace(services, job_boards=JobBoards([OwnBoard()]))
        for name, indexes in INDEXES.items():
            if indexes:
                await services.job_matches.database[name].create_indexes(indexes)
        names = [f"auth0|{number:06}" for number in range(users)]
        for user_id in names:
            await _prepare(services, user_id)
        counting.commands = counting.documents = 0
        most, began = 0, time.process_time()
        for user_id in names:
            model.forget_requests()  # it keeps the last 2,000
            await _search(services, user_id)
            most = max(most, len(model.requests))
        cpu = (time.process_time() - began) / users
        commands, documents = counting.commands / users, counting.documents / users
        spent = [await services.usage.spent_today(user_id, NOW) for user_id in names]
        kept = [len(await services.job_matches.newest(user_id, 20)) for user_id in names]
        await services.close()
    return Night(users, commands, documents, most, sum(spent) / users, sum(kept) / users, cpu)


async def _prepare(services: ModelServices, user_id: str) -> None:
    profile = {"user_id": user_id, "headline": "Backend Engineer", "summary": SAID, "skills": ["Python"]}
    await services.job_matches.database["candidates_enhanced"].insert_one(profile)
    wishes = JobWishes(titles=tuple(f"{title} of {user_id[6:]}" for title in TITLES), places=("Berlin",), remote="no")
    await services.job_searches.choose(user_id, is_on=True, wishes=wishes, next_at=NOW)


async def _search(services: ModelServices, user_id: str) -> None:
    given = ScoutState(user_id=user_id, run_id=f"scout-{user_id}", at_night=True)
    await services.usage.open(user_id, NOW)
    await services.job_searches.begin(user_id, given.run_id, NOW)
    for each in STATES:
        given = await each.work(services, given)


def rows(nights: Sequence[Night]) -> Iterator[Row]:
    first = nights[0]
    for each in nights:
        linear = Target("of the first", each.documents / first.documents, at_most=1.1)
        yield Row(f"commands a user, {each.users:,} users", "", each.commands)
        yield Row(f"documents read a user, {each.users:,} users", "", each.documents, None, linear)
        most = Target("", each.most_requests, at_most=MOST_REQUESTS)
        yield Row(f"requests to models, the most of a user, {each.users:,} users", "", each.most_requests, None, most)
        yield Row(f"cost a user and night, {each.users:,} users", "0.001 USD", each.cost_usd * 1_000)
        steady = Target("of the first", each.cpu_seconds / first.cpu_seconds, at_most=1.5)
        yield Row(f"processor a user, {each.users:,} users", "ms", each.cpu_seconds * 1_000, None, steady)
        yield Row(f"jobs kept a user, {each.users:,} users", "", each.kept)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scouting", description=__doc__)
    parser.add_argument("users", nargs="*", type=int, help=f"{', '.join(map(str, SIZES))} unless given")
    sizes = parser.parse_args().users or SIZES
    with ModelServer() as model:
        nights = [asyncio.run(measure(users, model)) for users in sizes]
    found = list(rows(nights))
    print(table(f"A night of job searches, {ADVERTS} adverts a user", found))
    if any(row.target and not row.target.holds for row in found):
        raise SystemExit("What must hold does not hold.")


if __name__ == "__main__":
    main()
