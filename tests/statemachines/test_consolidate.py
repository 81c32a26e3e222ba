"""Every night: all users with new memories are processed, even if one of them fails."""

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchmarks.capacity import Limits, Load, users_an_hour
from infra.local import model_server
from infra.local.aws_functions import Handler
from infra.local.aws_moto import Outcome
from infra.local.environment import Template
from infra.local.model_embedding import embedding
from infra.local.model_server import ModelServer, Reply
from infra.stages import Stage
from qwestly_agent import container
from qwestly_agent.base.errors import Internal, ModelUnavailable, Unavailable
from qwestly_agent.domain.memory import Memory
from qwestly_agent.llm.embeddings import DIMENSIONS
from qwestly_agent.memory import consolidate_writer
from qwestly_agent.memory.notes import hash_of
from qwestly_agent.stores import approvals, memories, memory_work, runs
from tests.comparing import Judge
from tests.statemachines.conftest import Case, World

TEMPLATE = Template.load()
MACHINE = TEMPLATE.name("ConsolidateMachine")
SAME = ("Knows Python and Go", "Knows Go and Python", "Speaks Spanish and English")
THREE = ("Knows Python, Go and Rust", "Knows Go, Python and Rust", "Knows Rust, Go and Python")
COMPARES = "You compare notes about one person"
Metrics = Callable[[], dict[str, float]]


@pytest.fixture(autouse=True)
def _compares(model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_server, "think", Judge(same=[{*SAME[:2]}, {*THREE}]))


@pytest.fixture(autouse=True)
def _nobody_else_is_due(world: World) -> None:
    _nobody_is_due(world)


def _nobody_is_due(world: World) -> None:
    world.database[memories.COLLECTION].delete_many({})
    world.database[memory_work.JOURNAL].delete_many({})
    world.database[runs.SWEEPS].delete_many({})


@pytest.fixture
def metrics(capfd: pytest.CaptureFixture[str]) -> Metrics:
    """Summed over all pages so far."""

    def read() -> dict[str, float]:
        sums: dict[str, float] = {}
        for line in capfd.readouterr().out.splitlines():
            if "ConsolidatedUsers" in line or "MemoriesLeft" in line:
                for name, values in json.loads(line).items():
                    if isinstance(values, list):
                        sums[name] = sums.get(name, 0) + sum(values)
        return sums

    return read


def has_told(world: World, *contents: str, name: str = "") -> str:
    """A user with these memories, stored today."""
    user_id = f"auth0|{name or uuid.uuid4().hex}"

    async def remember(services: Any) -> None:
        for content in contents:
            memory = Memory(id=uuid.uuid4().hex, type="skill", content=content)
            vector = embedding(content, DIMENSIONS)
            assert await services.memories.add(user_id, memory, hash_of(content), vector, world.clock())
            world.clock.advance(1)

    world.run(remember)
    return user_id


def consolidates(world: World, **given: Any) -> Outcome:
    return world.aws.run(MACHINE, {"run_id": uuid.uuid4().hex, **given})


def merged(world: World, user_id: str) -> int:
    return world.database[memories.COLLECTION].count_documents({"user_id": user_id, "status": "merged"})


def case(world: World, model: ModelServer) -> Case:
    _nobody_is_due(world)
    user_id = has_told(world, *SAME)

    def begin() -> str:
        verdict = {"id": "p1", "relation": "same", "quote": SAME[0], "new_quote": SAME[1]}
        model.script(Reply(tool_calls=[{"name": "final_result", "arguments": {"verdicts": [verdict]}}], to=COMPARES))
        return world.aws.start(MACHINE, {"run_id": uuid.uuid4().hex})

    return Case(world, user_id, begin, lambda: merged(world, user_id) == 1)


@pytest.mark.thorough
def test_equal_memories_are_merged_for_all_users_with_new_ones(world: World, metrics: Metrics) -> None:
    ada, bob, eve = has_told(world, *SAME), has_told(world, SAME[2]), has_told(world, *SAME[:2])
    ended = consolidates(world)
    assert (ended.status, ended.states[-1]) == ("SUCCEEDED", "consolidated")
    assert [merged(world, user) for user in (ada, bob, eve)] == [1, 0, 1]
    assert ended.states.count("apply") == 2, "who has nothing to merge needs no second state"
    assert metrics() == {
        "ConsolidatedUsers": 3,
        "PlannedMerges": 2,
        "Merges": 2,
        "MergesLeftOver": 0,
        "FailedConsolidations": 0,
        "MemoriesLeft": 0,
        "OldestMemoriesLeft": 0,
    }


def test_the_user_is_asked_once_about_an_outdated_memory(world: World) -> None:
    ada = has_told(world, SAME[2])
    past = {"importance": 0.1, "created": world.clock() - 400 * 86_400}
    world.database[memories.COLLECTION].update_one({"user_id": ada}, {"$set": past})
    [outdated] = world.database[memories.COLLECTION].find({"user_id": ada})
    assert consolidates(world).status == "SUCCEEDED"
    [question] = world.database[approvals.COLLECTION].find({"user_id": ada})
    assert (question["tool"], question["status"], question["mails"]) == ("forget_outdated_memories", "pending", 0)
    assert outdated["content"] in str(question["preview"])


@pytest.mark.thorough
def test_a_provider_that_rejects_requests_raises_the_alarm_but_an_outage_does_not(
    world: World, model: ModelServer
) -> None:
    users = [has_told(world, *SAME[:2], name=f"user{number:02}") for number in range(11)]
    model.fault = Reply(fault=401)
    ended = consolidates(world)
    assert (ended.status, ended.states[-1], ended.states.count("plan")) == ("FAILED", "some_users_failed", 11)
    model.fault = None
    with world.instead_of("plan", failing(users[0], ModelUnavailable()), "consolidate"):
        assert consolidates(world).status == "SUCCEEDED"
    assert [merged(world, user) for user in users] == [0, *[1] * 10]


@pytest.mark.thorough
def test_a_night_started_twice_runs_once(world: World) -> None:
    ada = has_told(world, *THREE)
    for _ in range(2):
        assert consolidates(world, run_id="2026-11-21T03:17:00Z").status == "SUCCEEDED"
    assert merged(world, ada) == 1
    assert consolidates(world, run_id="2026-11-22T03:17:00Z").status == "SUCCEEDED"
    assert merged(world, ada) == 2


class Hours:
    """A clock that advances once as many users as are consolidated concurrently have started: the first to end,
    ends."""

    def __init__(self, seconds: float, at_once: int, page: int) -> None:
        self.seconds, self.at_once, self.page = seconds, at_once, page
        self.now, self.ended = 0.0, 0
        self._ends: list[float] = []
        self._changed = threading.Condition()

    def takes_time(self, own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            with self._changed:
                ends = self.now + self.seconds
                self._ends.append(ends)
                self._changed.notify_all()
                assert self._changed.wait_for(lambda: self._are_all_here and ends == min(self._ends), 20), (
                    self.ended,
                    len(self._ends),
                    self.now,
                )
                self._ends.remove(ends)
                self.now, self.ended = ends, self.ended + 1
                self._changed.notify_all()
            return {**event, "begun": 0, "questions": 0}

        return handler

    @property
    def _are_all_here(self) -> bool:
        return len(self._ends) >= min(self.at_once, self.page - self.ended % self.page)


@pytest.mark.thorough
def test_three_hundred_users_take_as_long_as_the_capacity_table_says(world: World) -> None:
    [one] = world.database[memories.COLLECTION].find({"user_id": has_told(world, SAME[2])})
    others = [f"auth0|user{number:03}" for number in range(299)]
    world.database[memories.COLLECTION].insert_many({**one, "_id": user, "user_id": user} for user in others)
    load, limits = Load(), Limits.of(Stage.load("prod"))
    hours = Hours(load.night_seconds, limits.users_at_once, consolidate_writer.USERS_AT_ONCE)
    with world.instead_of("plan", hours.takes_time, "consolidate"):
        assert consolidates(world).status == "SUCCEEDED"
    assert hours.ended == 300
    assert 300 / (hours.now / 3_600) == pytest.approx(users_an_hour(load, limits), rel=0.1)


def test_users_without_new_memories_are_skipped(world: World) -> None:
    ended = consolidates(world)
    assert ended.status == "SUCCEEDED"
    assert "plan" not in ended.states


@pytest.mark.thorough
def test_users_on_every_page_are_processed(world: World, metrics: Metrics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consolidate_writer, "USERS_AT_ONCE", 2)
    users = [has_told(world, *SAME[:2], name=f"user{number}") for number in range(5)]
    ended = consolidates(world)
    assert ended.status == "SUCCEEDED"
    assert [merged(world, user) for user in users] == [1] * 5
    assert ended.states.count("find_users") == 3
    assert metrics()["ConsolidatedUsers"] == 5


@pytest.fixture
def _three_users_a_night() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("USERS_A_NIGHT", "3")
        container.services.close()  # the next call creates new services
        yield
    container.services.close()


@pytest.mark.thorough
@pytest.mark.usefixtures("_three_users_a_night")
def test_a_night_is_capped_and_the_next_continues_after_it_despite_failures(
    world: World, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidate_writer, "USERS_AT_ONCE", 2)
    users = [has_told(world, *SAME[:2], name=f"user{number}") for number in range(5)]
    world.clock.advance(60)

    def away_for_three(own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            if event["user_id"] in users[:3]:
                raise Unavailable
            return own(event, context)

        return handler

    with world.instead_of("plan", away_for_three, "consolidate"):
        consolidates(world)
        assert [merged(world, user) for user in users] == [0, 0, 0, 0, 0]
        left = metrics()
        assert left["MemoriesLeft"] == 10
        assert left["OldestMemoriesLeft"] >= 60
        consolidates(world)
        assert [merged(world, user) for user in users] == [0, 0, 0, 1, 1]
    assert consolidates(world).status == "SUCCEEDED"
    assert [merged(world, user) for user in users] == [1, 1, 1, 1, 1]


def failing(user_id: str, error: Exception, times: int = 99) -> Callable[[Handler], Handler]:
    left = [error] * times

    def of(own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            if event["user_id"] == user_id and left:
                raise left.pop()
            return own(event, context)

        return handler

    return of


@pytest.mark.thorough
@pytest.mark.parametrize("state", ["plan", "apply"])
def test_a_failing_user_stops_no_other_and_raises_the_alarm_at_the_end(
    world: World, metrics: Metrics, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    monkeypatch.setattr(consolidate_writer, "USERS_AT_ONCE", 2)
    users = [has_told(world, *SAME[:2], name=f"user{number}") for number in range(5)]
    with world.instead_of(state, failing(users[0], Internal()), "consolidate"):
        ended = consolidates(world)
    assert (ended.status, ended.states[-1]) == ("FAILED", "some_users_failed")
    assert [merged(world, user) for user in users] == [0, 1, 1, 1, 1]
    assert (metrics()["FailedConsolidations"], ended.states.count("sum_up")) == (1, 3)
    assert consolidates(world).status == "SUCCEEDED"
    assert merged(world, users[0]) == 1


@pytest.mark.thorough
def test_a_failure_the_next_night_repairs_raises_no_alarm(world: World, metrics: Metrics) -> None:
    users = [has_told(world, *SAME[:2], name=f"user{number:02}") for number in range(11)]
    with world.instead_of("plan", failing(users[0], Unavailable()), "consolidate"):
        assert consolidates(world).status == "SUCCEEDED"
    assert metrics()["FailedConsolidations"] == 1
    assert merged(world, users[0]) == 0
    assert consolidates(world).status == "SUCCEEDED"
    assert merged(world, users[0]) == 1


@pytest.mark.thorough
def test_a_lasting_failure_of_one_user_among_many_raises_the_alarm(world: World) -> None:
    users = [has_told(world, *SAME[:2], name=f"user{number:02}") for number in range(11)]
    with world.instead_of("plan", failing(users[0], Internal()), "consolidate"):
        assert consolidates(world).status == "FAILED"
    assert merged(world, users[-1]) == 1


@pytest.mark.thorough
def test_a_database_outage_for_many_users_raises_the_alarm(world: World) -> None:
    users = [has_told(world, *SAME[:2], name=f"user{number}") for number in range(3)]
    with world.instead_of("plan", failing(users[0], Unavailable()), "consolidate"):
        assert consolidates(world).status == "FAILED"


@pytest.mark.thorough
def test_a_transient_failure_is_retried(world: World) -> None:
    ada = has_told(world, *SAME[:2])
    for state in ("plan", "apply"):
        with world.instead_of(state, failing(ada, Unavailable(), times=2), "consolidate"):
            assert consolidates(world).status == "SUCCEEDED"
        assert merged(world, ada) == 1


@pytest.mark.parametrize("state", ["find_users", "sum_up"])
def test_a_failure_outside_any_users_work_raises_the_alarm(world: World, state: str) -> None:
    has_told(world, *SAME)

    def of(own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            raise Internal

        return handler

    with world.instead_of(state, of, "consolidate"):
        ended = consolidates(world)
    assert (ended.status, ended.states[-1]) == ("FAILED", "failed")


@pytest.mark.thorough
def test_a_user_under_the_brake_is_skipped_and_due_the_next_night(world: World, metrics: Metrics) -> None:
    ada, bob = has_told(world, *SAME), has_told(world, *SAME)
    world.run(lambda services: services.signals.turn_brake_on(ada, world.clock()))
    assert consolidates(world).status == "SUCCEEDED"
    assert (merged(world, ada), merged(world, bob)) == (0, 1)
    assert metrics()["FailedConsolidations"] == 0
    world.run(lambda services: services.signals.turn_brake_off(ada, world.clock()))
    assert consolidates(world).status == "SUCCEEDED"
    assert merged(world, ada) == 1


def test_the_schedule_starts_consolidation_with_the_night_as_its_run(world: World) -> None:
    ada = has_told(world, *SAME)
    schedule = world.aws.schedules[TEMPLATE.name("ConsolidateSchedule")]
    answer = world.aws.fire(schedule, 1_800_000_000.0)
    assert world.aws.outcome(json.loads(answer.payload)["executionArn"]).status == "SUCCEEDED"
    [run] = world.database[memory_work.JOURNAL].find({"user_id": ada})
    assert run["run_id"] == "night of 2027-01-15T08:00:00Z"


def test_an_execution_with_input_of_another_version_continues(world: World) -> None:
    ada = has_told(world, *SAME)
    ended = world.aws.run(MACHINE, {"of_a_version_to_come": {"any": "thing"}})
    assert ended.status == "SUCCEEDED"
    assert merged(world, ada) == 1
