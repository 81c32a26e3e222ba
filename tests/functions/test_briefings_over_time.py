"""Each user's briefings over the days around a clock change: one a day, whatever is lost, duplicated or killed."""

import random
import uuid
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from infra.local.model_server import ModelServer
from infra.machines import read_machine
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.briefings import BRIEF
from qwestly_agent.briefings.model import BriefingState
from qwestly_agent.briefings.writer import begin_if_due
from qwestly_agent.services import ModelServices
from tests.counts import sample
from tests.functions.talking import Talk, add_memory, talking
from tests.killing import Death, Killed, mortal

pytestmark = pytest.mark.anyio
DAY, MINUTE = 86_400.0, 60.0


@pytest.fixture
async def talk(mongodb_uri: str, database_name: str, model: ModelServer) -> AsyncIterator[Talk]:
    async with talking(mongodb_uri, database_name, model) as talk:
        yield talk


DEFINITION = read_machine(Path("statemachines/brief.asl.yaml"))
MACHINE: dict[str, dict[str, Any]] = DEFINITION["States"]
TASKS = {name for name, each in MACHINE.items() if each["Type"] == "Task"}
FUNCTIONS = BRIEF.load_states("writer")


@dataclass
class Execution:
    given: BriefingState
    state: str = DEFINITION["StartAt"]
    not_before: float = 0.0


@dataclass
class Machines:
    """Executions, one per name, which run afterwards as the state machine is defined."""

    begun: dict[str, Execution] = field(default_factory=dict[str, Execution])
    failing: float = 0.1
    chance: random.Random = field(default_factory=lambda: random.Random(24))
    killed: Counter[str] = field(default_factory=Counter[str])

    async def start(self, workflow: str, name: str, given: Any) -> None:
        if self.chance.random() < self.failing:
            raise Unavailable
        self.begun.setdefault(name, Execution(BriefingState.model_validate(given)))
        if self.chance.random() < self.failing:  # it started, but the response was lost
            raise Unavailable

    def waiting(self) -> list[float]:
        return [each.not_before for each in self.begun.values() if MACHINE[each.state]["Type"] != "Succeed"]

    async def run(self, services: ModelServices) -> None:
        for each in self.begun.values():
            while each.not_before <= services.clock() and (kind := MACHINE[each.state]["Type"]) != "Succeed":
                await getattr(self, kind.lower())(services, each, MACHINE[each.state])

    async def task(self, services: ModelServices, each: Execution, state: dict[str, Any]) -> None:
        """Run a task that is killed now and then, retried until it completes, and delivered again."""
        is_done, ended = False, each.given
        while not is_done or self.chance.random() < 0.2:
            is_mortal = self.chance.random() < 0.3
            dies = Death(self.chance.randrange(1, 5), after=self.chance.random() < 0.5) if is_mortal else Death()
            try:
                ended = await FUNCTIONS[each.state](mortal(services, dies), each.given)
            except Killed:
                self.killed[each.state] += 1
            else:
                is_done = True
        each.given, each.state = ended, state["Next"]

    async def choice(self, _: ModelServices, each: Execution, state: dict[str, Any]) -> None:
        chosen = (option["Next"] for option in state["Choices"] if _holds(option, each.given.out))
        each.state = next(chosen, state["Default"])

    async def wait(self, services: ModelServices, each: Execution, state: dict[str, Any]) -> None:
        each.not_before, each.state = services.clock() + state["Seconds"], state["Next"]


def _holds(rule: dict[str, Any], given: dict[str, Any]) -> bool:
    if "And" in rule:
        return all(_holds(each, given) for each in rule["And"])
    [(operator, operand)] = [(name, value) for name, value in rule.items() if name not in ("Variable", "Next")]
    value = given[rule["Variable"].removeprefix("$.")]
    match operator:
        case "NumericGreaterThan":
            return value > operand
        case "NumericLessThan":
            return value < operand
        case _:
            assert operator == "BooleanEquals"
            return value is operand


@dataclass
class Post:
    sent: list[str] = field(default_factory=list)

    async def send(self, to: str, *message: str, unsubscribe: str) -> None:
        assert unsubscribe
        self.sent.append(to)


ZONES = {
    "Europe/Lisbon": "2026-03-29",
    "America/New_York": "2026-11-01",
    "Australia/Lord_Howe": "2026-10-04",
    "Africa/Cairo": "2026-04-24",
    "America/Nuuk": "2026-03-28",
}
"""Time zones, with the days on which their clocks change; ten users each."""


@pytest.mark.nightly
@pytest.mark.thorough
@pytest.mark.parametrize("zone", sample(ZONES, 2))
async def test_each_user_gets_one_briefing_a_day_on_time_unless_turned_off(talk: Talk, zone: str) -> None:
    chance, machines, post = random.Random(zone), Machines(), Post()
    services: Any = replace(talk.services, workflows=machines, mail=post)
    begins = datetime.fromisoformat(ZONES[zone]).replace(tzinfo=ZoneInfo(zone)) - timedelta(days=7)
    talk.clock.now = begins.timestamp()
    users: dict[str, bool] = {f"auth0|{uuid.uuid4().hex}": number > 0 for number in range(11)}
    for user_id, on in users.items():
        await services.user_settings.change(user_id, {"time_zone": zone}, to_datetime(talk.clock()))
        hour, minute = chance.choice(((0, 0), (1, 30), (2, 30), (8, 0), (23, 30)))
        await services.briefing_plans.change(user_id, {"on": on, "hour": hour, "minute": minute}, talk.clock())
        await services.briefing_plans.reschedule(user_id, talk.clock())
        await services.profiles.database["candidates_enhanced"].insert_one(
            {"_id": user_id, "user_id": user_id, "email": user_id}
        )
    planned: dict[tuple[str, str], float] = {}
    while talk.clock() < begins.timestamp() + 14 * DAY:
        plans = [plan.next.at for user_id in users if (plan := await services.briefing_plans.get(user_id)).next]
        talk.clock.now = max(talk.clock() + MINUTE, min([*plans, *machines.waiting()]))
        for user_id, _, _ in await services.briefing_plans.list_due(0, talk.clock(), 100):
            if chance.random() < 0.5:
                await add_memory(services, user_id, talk.clock())
            due = (await services.briefing_plans.get(user_id)).next
            planned[user_id, due.day] = due.at
            for _ in range(chance.choice((0, 1, 1, 2))):  # lost, or delivered twice
                dies = Death(chance.randrange(1, 6), after=chance.random() < 0.5) if chance.random() < 0.3 else Death()
                with suppress(Killed, Unavailable):
                    await begin_if_due(mortal(services, dies), user_id)
        await machines.run(services)
    assert machines.killed.keys() == TASKS, "each state died"
    days = [(begins.date() + timedelta(days=n)).isoformat() for n in range(1, 13)]
    full, mails, kinds = defaultdict[str, int](int), Counter(post.sent), Counter[str]()
    for user_id, on in users.items():
        told = await services.briefings.newest(user_id, 100)
        assert len({each.day for each in told}) == len(told), "never two"
        assert {each.day for each in told} >= set(days) if on else not told
        late = [(each.delivered_at or 0.0) - planned[user_id, each.day] for each in told]
        assert all(0 <= each < 10 * MINUTE for each in late)
        full[user_id] = sum(each.kind != "nothing" for each in told)
        kinds.update(each.kind for each in told)
        assert mails[user_id] <= full[user_id], "no second mail"
    assert kinds["full"] > 0


@pytest.mark.thorough
async def test_a_briefing_workflow_starts_only_for_users_with_news(talk: Talk) -> None:
    machines = Machines(failing=0.0)
    services: Any = replace(talk.services, workflows=machines)
    users = [f"auth0|{uuid.uuid4().hex}" for _ in range(20)]
    for number, user_id in enumerate(users):
        await services.briefing_plans.change(user_id, {"on": True}, talk.clock())
        await services.briefing_plans.reschedule(user_id, talk.clock())
        if number % 2:
            await add_memory(services, user_id, talk.clock())
    talk.clock.advance(DAY)
    due = await services.briefing_plans.list_due(0, talk.clock(), 100)
    done = Counter([await begin_if_due(services, user_id) for user_id, _, _ in due])
    assert done == {"started": 10, "nothing_new": 10}
    assert len(machines.begun) == 10
    assert await services.briefing_plans.list_due(0, talk.clock(), 100) == []
