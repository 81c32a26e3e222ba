"""Each user's briefing over the days around a change of clocks: one a day, whatever is lost, doubled or killed."""

import random
import uuid
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from infra.local.model_server import ModelServer
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.briefings.briefing_state import BriefingState
from qwestly_agent.briefings.deliver import deliver
from qwestly_agent.briefings.gather import gather
from qwestly_agent.briefings.note_read import note_read
from qwestly_agent.briefings.sweep import begin_if_due
from qwestly_agent.domain.activity import of_memory
from qwestly_agent.services import ModelServices
from tests.functions.talking import Talk, talking
from tests.killing import Death, Killed, mortal

pytestmark = pytest.mark.anyio
DAY, MINUTE = 86_400.0, 60.0


@pytest.fixture
async def talk(mongodb_uri: str, database_name: str, model: ModelServer) -> AsyncIterator[Talk]:
    async with talking(mongodb_uri, database_name, model) as talk:
        yield talk


@dataclass
class Machines:
    """Executions, one a name, which are run afterwards."""

    begun: dict[str, BriefingState] = field(default_factory=dict)
    failing: float = 0.1
    chance: random.Random = field(default_factory=lambda: random.Random(24))

    async def start(self, machine_arn: str, name: str, given: Any) -> None:
        if self.chance.random() < self.failing:
            raise Unavailable
        self.begun.setdefault(name, BriefingState.model_validate(given))
        if self.chance.random() < self.failing:  # it began, and nobody heard of it
            raise Unavailable


@dataclass
class Post:
    sent: list[str] = field(default_factory=list)

    async def send(self, to: str, *message: str, unsubscribe: str) -> None:
        assert unsubscribe
        self.sent.append(to)


async def run(services: ModelServices, given: BriefingState, chance: random.Random) -> None:
    """The machine without its model: each state dies now and then, and is tried again until it ends."""
    for state in (gather, deliver, note_read):
        while True:
            dies = Death(chance.randrange(1, 5), after=chance.random() < 0.5) if chance.random() < 0.3 else Death()
            try:
                given = await state(mortal(services, dies), given)
            except Killed:
                continue
            if chance.random() < 0.2:
                continue  # delivered again
            break


ZONES = {
    "Europe/Lisbon": "2026-03-29",
    "America/New_York": "2026-11-01",
    "Australia/Lord_Howe": "2026-10-04",
    "Africa/Cairo": "2026-04-24",
    "America/Nuuk": "2026-03-28",
}
"""And the days on which their clocks change."""


@pytest.mark.thorough
@pytest.mark.parametrize("zone", ZONES)
async def test_each_day_has_one_within_ten_minutes_and_none_for_those_who_are_off(talk: Talk, zone: str) -> None:
    chance, machines, post = random.Random(zone), Machines(), Post()
    services: Any = replace(talk.services, workflows=machines, mail=post)
    begins = datetime.fromisoformat(ZONES[zone]).replace(tzinfo=ZoneInfo(zone)) - timedelta(days=7)
    talk.clock.now = begins.timestamp()
    users: dict[str, bool] = {f"auth0|{uuid.uuid4().hex}": number > 0 for number in range(6)}
    for user_id, on in users.items():
        await services.user_settings.put(user_id, {"time_zone": zone}, to_datetime(talk.clock()))
        hour, minute = chance.choice(((0, 0), (1, 30), (2, 30), (8, 0), (23, 30)))
        await services.briefing_plans.change(user_id, {"on": on, "hour": hour, "minute": minute}, talk.clock())
        await services.briefing_plans.plan(user_id, talk.clock())
        await services.profiles.database["candidates_enhanced"].insert_one(
            {"_id": user_id, "user_id": user_id, "email": user_id}
        )
    late: list[float] = []
    while talk.clock() < begins.timestamp() + 14 * DAY:
        plans = [plan.next.at for user_id in users if (plan := await services.briefing_plans.get(user_id)).next]
        talk.clock.now = max(talk.clock() + MINUTE, min(plans))
        for user_id in await services.sweeps.due_briefings(talk.clock(), 100):
            if chance.random() < 0.5:
                await services.activity.add(of_memory("remembered", user_id, uuid.uuid4().hex, talk.clock()))
            late.append(talk.clock() - (await services.briefing_plans.get(user_id)).next.at)
            for _ in range(chance.choice((0, 1, 1, 2))):  # lost, or delivered twice
                dies = Death(chance.randrange(1, 6), after=chance.random() < 0.5) if chance.random() < 0.3 else Death()
                with suppress(Killed, Unavailable):
                    await begin_if_due(mortal(services, dies), user_id)
        while machines.begun:
            await run(services, machines.begun.popitem()[1], chance)
    assert max(late) < 10 * MINUTE
    days = [(begins.date() + timedelta(days=n)).isoformat() for n in range(1, 13)]
    full, mails = defaultdict[str, int](int), Counter(post.sent)
    for user_id, on in users.items():
        told = await services.briefings.newest(user_id, 100)
        assert len({each.day for each in told}) == len(told), "never two"
        assert {each.day for each in told} >= set(days) if on else not told
        full[user_id] = sum(each.kind != "nothing" for each in told)
        assert mails[user_id] <= full[user_id], "no second mail"


async def test_an_execution_begins_for_those_alone_who_have_something_new(talk: Talk) -> None:
    machines = Machines(failing=0.0)
    services: Any = replace(talk.services, workflows=machines)
    users = [f"auth0|{uuid.uuid4().hex}" for _ in range(20)]
    for number, user_id in enumerate(users):
        await services.briefing_plans.change(user_id, {"on": True}, talk.clock())
        await services.briefing_plans.plan(user_id, talk.clock())
        if number % 2:
            await services.activity.add(of_memory("remembered", user_id, uuid.uuid4().hex, talk.clock()))
    talk.clock.advance(DAY)
    due = await services.sweeps.due_briefings(talk.clock(), 100)
    done = Counter([await begin_if_due(services, user_id) for user_id in due])
    assert done == {"started": 10, "nothing_new": 10}
    assert len(machines.begun) == 10
    assert await services.sweeps.due_briefings(talk.clock(), 100) == []
