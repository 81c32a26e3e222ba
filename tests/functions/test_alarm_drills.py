"""Drills: something fails, and within fifteen minutes the right alarms ring, and no others.

Metrics come from our handlers (their log lines), from the local Lambda (its counters) and, for services that do not
exist locally, from numbers as AWS would write them. Minutes pass on a clock of the tests.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pytest

from infra.local import front
from infra.local.aws_functions import Functions, functions_of
from infra.local.aws_limits import Slots, UrlLimits
from infra.local.environment import API, CHAT, Template
from infra.local.model_server import ModelServer, Reply
from qwestly_agent import container
from qwestly_agent.base import observability
from qwestly_agent.bootstrap import bootstrap
from tests.functions.approving import HOUR, World
from tests.functions.test_approve_sweep import REFUSED
from tests.infra.cloudwatch import CloudWatch, calculate
from tests.infra.test_local import served
from tests.infra.test_template import FUNCTIONS, MACHINE, PARAMETERS, resources
from tests.servers import ChatServer, Client, mongo_server

LOCAL = Template.load()
RUNBOOK = LOCAL.folder / "docs/runbook.md"
LOGICAL = {LOCAL.name(each): each for each in FUNCTIONS}
MINUTE = 60.0
TURNS_A_MINUTE = 20
RINGS_WITHIN = 15
TOKENS = {"input_tokens": 8_000, "cached_tokens": 7_000, "output_tokens": 200}
RECEIPT = {**TOKENS, "cost_usd": 0.0002, "first_text_ms": 900, "total_ms": 6_000}

Write = Callable[[], str]


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Write:
    """Return everything written since the last call."""
    return lambda: capsys.readouterr().out


class Day:
    """Minutes of a healthy stage, except for the fault that a drill adds to each."""

    def __init__(self, written: Write) -> None:
        self.cloudwatch, self.now, self._written = CloudWatch(), 0.0, written
        self._chance = random.Random(19)
        self._lines = {status: self._line_of(status) for status in ("complete", "failed")}
        self.turns = TURNS_A_MINUTE
        self.sweeps = self.reads = self.briefs = self.searches = self.looks = True
        self.failing = 0.02
        for _ in range(20):
            self.minute()
        assert self.cloudwatch.ringing == set(), "a quiet morning"

    def _line_of(self, status: str) -> str:
        self._written()
        observability.measure_turn(status, RECEIPT, {"succeeded": 2})
        return self._written()

    def minute(self, also: Callable[[], None] = lambda: None) -> set[str]:
        """Let a minute pass with its ordinary traffic; return the alarms that ring at its end."""
        self._written()
        for _ in range(self.turns):
            has_failed = self._chance.random() < self.failing
            self.cloudwatch.read_lines(self.now + MINUTE, self._lines["failed" if has_failed else "complete"])
        if self.sweeps:
            observability.measure_waiting(3_600, False, left=0, oldest_left=0)
        if self.reads and self.now % (5 * MINUTE) == 0:
            observability.measure_left("Conversations", 3, 120)
        if self.briefs:
            observability.measure_left("Briefings", 3, 60)
        if self.searches and self.now % (5 * MINUTE) == 0:
            observability.measure_left("Jobs", 3, 3_600)
            observability.measure_left("Steps", 3, 240)
        if self.looks and self.now % (5 * MINUTE) == 0:
            observability.measure_rollout(share=10)
        also()
        self.now += MINUTE
        self.cloudwatch.read_lines(self.now, self._written())
        return self.cloudwatch.evaluate(self.now)

    def rung(self, also: Callable[[], None] = lambda: None, minutes: int = RINGS_WITHIN) -> set[str]:
        """Return the alarms that rang during the next minutes."""
        return set().union(*(self.minute(also) for _ in range(minutes)))

    def put(self, name: str, value: float, namespace: str, of: str) -> Callable[[], None]:
        """Write a metric each minute, as AWS does."""
        return lambda: self.cloudwatch.put(self.now + MINUTE, name, value, namespace, of)


@pytest.fixture
def day(written: Write) -> Day:
    return Day(written)


@pytest.mark.sentinel
@pytest.mark.thorough
def test_an_ordinary_day_triggers_no_alarm(day: Day) -> None:
    day.turns = 3
    assert day.rung(minutes=24 * 60) == set()


@pytest.mark.parametrize("turns", [5, 50, 500, 5_000])
def test_two_percent_of_failed_turns_trigger_less_than_one_alarm_a_year_at_any_traffic(turns: int) -> None:
    """Computed from the tail of the binomial distribution, for each ten-minute window of a day."""
    expression = next(
        each["Expression"]
        for each in resources("AWS::CloudWatch::Alarm")["TurnsFail"]["Metrics"]
        if each["Id"] == "many"
    )
    rings_from = next(
        failed for failed in range(turns + 2) if calculate(expression, {"turns": float(turns), "failed": float(failed)})
    )
    chance, tail = 0.98**turns, 0.0
    below = chance
    for failed in range(1, turns + 1):
        chance *= (turns - failed + 1) / failed * 0.02 / 0.98
        if failed < rings_from:
            below += chance
        else:
            tail += chance
    assert tail * 144 * 365 < 1
    assert abs(below + tail - 1) < 1e-6


# --- in the chat ------------------------------------------------------------------------------------------------------


def lines_of_a_failed_turn(client: Client, model: ModelServer, written: Write) -> str:
    written()
    model.script(*[Reply(fault=500)] * 2)
    assert client.say("Hello").last.name == "error"
    return written()


@pytest.mark.thorough
@pytest.mark.parametrize(("share", "rings"), [(1.0, True), (0.1, True), (0.02, False)])
def test_a_failing_provider_triggers_an_alarm_from_a_share_of_failed_turns(
    client: Client, model: ModelServer, written: Write, day: Day, share: float, rings: bool
) -> None:
    failed = lines_of_a_failed_turn(client, model, written)
    day.failing = 0.0
    chance = random.Random(7)

    def some_fail() -> None:
        # Send as many of these as ordinary turns and fail them at twice the rate, so that the overall failure rate is
        # `share`.
        for _ in range(TURNS_A_MINUTE):
            if chance.random() < share * 2:
                day.cloudwatch.read_lines(day.now + MINUTE, failed)

    assert day.rung(some_fail) == ({"TurnsFail"} if rings else set())


def test_a_rejected_api_key_triggers_an_alarm_at_once(day: Day) -> None:
    refused = iter([True])
    rung = day.rung(lambda: observability.measure_refusal("deepseek:x", 401) if next(refused, False) else None)
    assert rung == {"ModelRefused"}


def test_turns_close_to_the_timeout_trigger_an_alarm(day: Day) -> None:
    def slow() -> None:
        for _ in range(TURNS_A_MINUTE):
            observability.measure_turn("complete", {**RECEIPT, "total_ms": 240_000}, {})

    assert day.rung(slow) == {"TurnsFail"}


def counted(day: Day, slots: Slots) -> None:
    """Report the counters of the local Lambda to CloudWatch."""
    for (metric, function), times in slots.counted.items():
        day.cloudwatch.put(day.now + MINUTE, metric, times, "AWS/Lambda", LOGICAL[function])
    slots.counted.clear()


@pytest.fixture
def slots() -> Slots:
    return Slots({LOCAL.name(CHAT): 2, LOCAL.name(API): 10})


@pytest.fixture
def address(chat: ChatServer, slots: Slots) -> Iterator[str]:
    turns, others = (front.UrlFunction(LOCAL.name(each), LOCAL.timeout(each)) for each in (CHAT, API))
    there = front.Front(chat.url, chat.url, turns=turns, others=others, limits=UrlLimits(slots))
    with served(front.create_app(there, dict(LOCAL.cors(CHAT)), [])) as url:
        yield url


def test_a_chat_without_free_slots_triggers_an_alarm(day: Day, slots: Slots, address: str, client: Client) -> None:
    name = LOCAL.name(CHAT)
    with slots.taken(name), slots.taken(name), Client(address, client.user_id) as user:
        assert user.request("POST", "/api/chat", json={"message": "Hello"}).status_code == 429
    assert day.rung(lambda: counted(day, slots)) == {"DoorsThrottled"}


def test_a_url_that_returns_5xx_triggers_an_alarm(day: Day, slots: Slots, client: Client) -> None:
    turns, others = (front.UrlFunction(LOCAL.name(each), LOCAL.timeout(each)) for each in (CHAT, API))
    nobody = "http://127.0.0.1:9"
    there = front.Front(nobody, nobody, turns=turns, others=others, limits=UrlLimits(slots))
    with (
        served(front.create_app(there, dict(LOCAL.cors(CHAT)), [])) as url,
        Client(url, client.user_id) as user,
    ):
        assert user.request("GET", "/api/conversations").status_code == 502
    assert day.rung(lambda: counted(day, slots)) == {"UrlsFail"}


class Schedule(NamedTuple):
    """The target of a schedule: a function, or the state machine whose first state it is."""

    function: str
    event: bytes
    minutes: int
    tries: int = 1


SCHEDULED = (
    Schedule("ApproveClockFunction", b"{}", 1),
    Schedule("ApproveClockFunction", b'{"workflow": "brief", "state": "sweep", "given": {}}', 1),
    Schedule("ApproveClockFunction", b'{"workflow": "rollout", "state": "advance", "given": {}}', 5),
    Schedule("ApproveClockFunction", b'{"workflow": "scout_jobs", "state": "sweep", "given": {}}', 5),
    Schedule(
        "ExtractMemoriesWriterFunction",
        b'{"workflow": "extract_memories", "state": "sweep", "given": {}}',
        5,
        tries=5,
    ),
)


@pytest.mark.nightly
@pytest.mark.thorough
def test_a_dead_database_triggers_all_sweep_alarms(
    day: Day, slots: Slots, chat: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions = Functions(slots)
    for each in functions_of(LOCAL):
        functions.add(each)
    with mongo_server() as (uri, process), ChatServer(replace(chat.settings, mongodb_uri=uri)) as server:
        dying = container.Container(partial(bootstrap, server.settings))
        monkeypatch.setattr(container, "services", dying)
        turns, others = (front.UrlFunction(LOCAL.name(each), LOCAL.timeout(each)) for each in (CHAT, API))
        there = front.Front(server.url, server.url, turns=turns, others=others, limits=UrlLimits(slots))
        with (
            served(front.create_app(there, dict(LOCAL.cors(CHAT)), [])) as url,
            Client(url, "auth0|somebody") as user,
        ):
            assert user.request("GET", "/api/conversations").status_code == 200
            process.kill()
            assert user.request("GET", "/api/conversations").status_code == 503
            assert user.request("POST", "/api/chat", json={"message": "Hello"}).status_code == 503
        for schedule in SCHEDULED:
            function = functions.find(LOCAL.name(schedule.function))
            assert function
            functions.invoke(function, schedule.event)
        dying.close()
        functions.close()
        crashes = {LOGICAL[name]: times for (metric, name), times in slots.counted.items() if metric == "Errors"}
    assert crashes == {"ApproveClockFunction": 4, "ExtractMemoriesWriterFunction": 1}
    for name in [each for each in slots.counted if each[0] == "Errors"]:
        del slots.counted[name]
    day.sweeps = day.reads = day.briefs = day.looks = False
    day.failing, day.turns = 0.0, 0

    def each_minute() -> None:
        counted(day, slots)
        for schedule in SCHEDULED:
            if day.now % (schedule.minutes * MINUTE) == 0:
                day.cloudwatch.put(day.now + MINUTE, "Errors", schedule.tries, "AWS/Lambda", schedule.function)
        if day.now % (5 * MINUTE) == 0:
            day.cloudwatch.put(day.now + MINUTE, "ExecutionsFailed", 1, "AWS/States", "ExtractMemoriesMachine")

    follows = {"FunctionsFail", "ExtractMemoriesFailed", "UrlsFail"}
    assert day.rung(each_minute) == {*SILENT_WITHOUT_SWEEPS, *follows} - {"JobsWait"}


# --- background work --------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_third_mail_rejected_by_ses_triggers_an_alarm(day: Day, world: World, written: Write) -> None:
    world.wire.failing["send_email"] = REFUSED
    world.ask()
    world.clock.advance(HOUR)
    lines: list[str] = []
    for _ in range(RINGS_WITHIN):
        written()
        world.sweep()
        lines.append("\n".join(line for line in written().splitlines() if "MailsRefused" in line))
        world.clock.advance(MINUTE)
    told = iter(lines)
    assert day.rung(lambda: day.cloudwatch.read_lines(day.now + MINUTE, next(told))) == {"MailsFail"}


def test_a_missing_sweep_of_approvals_triggers_an_alarm(day: Day) -> None:
    day.sweeps = False
    assert day.rung() == {"ApprovalsWait"}


def test_a_missing_sweep_of_conversations_triggers_an_alarm(day: Day) -> None:
    day.reads = False
    assert day.rung() == {"MemoriesWait"}


def test_a_missing_sweep_of_briefings_triggers_an_alarm(day: Day) -> None:
    day.briefs = False
    assert day.rung() == {"BriefingsWait"}


def test_a_missing_sweep_of_job_searches_triggers_an_alarm(day: Day) -> None:
    day.searches = False
    assert day.rung(minutes=RINGS_WITHIN + 5) == {"JobsWait"}


def test_a_missing_check_of_the_rollout_triggers_an_alarm(day: Day) -> None:
    day.looks = False
    assert day.rung() == {"RolloutHeld"}


@pytest.mark.thorough
def test_failing_turns_of_a_variant_trigger_its_own_alarm_and_not_the_overall_one(day: Day) -> None:
    of_variant = {**RECEIPT, "variant": "brief", "own_first_text_ms": 90}

    def one_in_four() -> None:
        status = "failed" if day.now % (4 * MINUTE) == 0 else "complete"
        observability.measure_turn(status, of_variant, {})

    day.failing, day.turns = 0.0, 200
    assert day.rung(one_in_four, minutes=60) == {"VariantFails"}


OWN: dict[str, Callable[[], None]] = {
    "ApprovalsWait, an old one": lambda: observability.measure_waiting(
        PARAMETERS["ApprovalAlarmSeconds"]["Default"] + 1, False, left=0, oldest_left=0
    ),
    "ApprovalsWait, many due": lambda: observability.measure_waiting(0, False, left=600, oldest_left=1_000),
    "BriefingsWait": lambda: observability.measure_left("Briefings", 50, 700),
    "BrakeOn": lambda: observability.measure_waiting(0, True, left=0, oldest_left=0),
    "MemoriesWait, conversations": lambda: observability.measure_left("Conversations", 50, 4_000),
    "MemoriesWait, nights": lambda: observability.measure_left("Memories", 900, 200_000),
    "MemoriesFail, set aside": observability.measure_set_aside,
    "MemoriesFail, junk": lambda: observability.measure_extraction(["add"], 0, 0, {"not_said": 9}),
    "CostHigh, an hour": lambda: observability.measure_answer(PARAMETERS["CostAlarmUsd"]["Default"] + 1),
    "CostHigh, the stage's day": observability.measure_stage_over_budget,
    "JudgeErrs": lambda: observability.measure_planted_lie("m", "figure", "en", passed=True, judge_errs=True),
    "RolloutHeld, held": lambda: observability.measure_rollout(share=10, held=True),
    "RolloutHeld, taken back": lambda: observability.measure_rollout(taken_back=True),
    "JobsWait, searches": lambda: observability.measure_left("Jobs", 50, 15_000),
    "JobsWait, steps": lambda: observability.measure_left("Steps", 1, 4_000),
    "ToolsFail": lambda: observability.measure_turn("complete", RECEIPT, {"failed": 5}),
}
SILENT_WITHOUT_SWEEPS = ("ApprovalsWait", "BriefingsWait", "MemoriesWait", "RolloutHeld", "JobsWait")


@pytest.mark.thorough
@pytest.mark.parametrize("case", OWN)
def test_each_alarm_on_our_own_metrics_is_triggered_without_others(day: Day, case: str) -> None:
    rung = day.rung(OWN[case])
    assert rung - {"CostOfDayHigh"} == {case.partition(",")[0]}


@pytest.mark.nightly
@pytest.mark.thorough
def test_an_expensive_day_triggers_an_alarm_although_no_single_hour_does(day: Day) -> None:
    day.turns = 1
    an_hour = PARAMETERS["CostAlarmUsd"]["Default"] * 0.9
    assert day.rung(lambda: observability.measure_answer(an_hour / 60), minutes=24 * 60) == {"CostOfDayHigh"}


@pytest.mark.thorough
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_crashed_or_throttled_function_triggers_only_its_own_alarm(day: Day, function: str) -> None:
    is_public = "FunctionUrlConfig" in FUNCTIONS[function]
    crashing, throttled = ("UrlsFail", "DoorsThrottled") if is_public else ("FunctionsFail", "FunctionsThrottled")
    assert day.rung(day.put("Errors", 1, "AWS/Lambda", function)) == {crashing}
    assert throttled in day.rung(day.put("Throttles", 1, "AWS/Lambda", function))


@pytest.mark.parametrize("machine", resources(MACHINE))
def test_a_failed_workflow_execution_triggers_only_its_own_alarm(day: Day, machine: str) -> None:
    rung = day.rung(day.put("ExecutionsFailed", 1, "AWS/States", machine))
    assert rung == {f"{machine.removesuffix('Machine')}Failed"}


def test_a_dead_letter_triggers_only_its_own_alarm(day: Day) -> None:
    name = "ApproximateNumberOfMessagesVisible"
    assert day.rung(day.put(name, 1, "AWS/SQS", "DeadLetters")) == {"DeadLettersWait"}


def test_spam_complaints_trigger_an_alarm(day: Day) -> None:
    name = "Reputation.ComplaintRate"
    assert day.rung(day.put(name, 0.002, "AWS/SES", "MailConfigurationSet")) == {"MailsFail"}


def test_a_brief_throttling_of_a_workflow_triggers_no_alarm(day: Day) -> None:
    once = iter([day.put("Throttles", 4, "AWS/Lambda", "GenerateReaderFunction")])
    assert day.rung(lambda: next(once, lambda: None)()) == set()


def test_every_alarm_has_a_drill() -> None:
    drilled = {
        *(each.partition(",")[0] for each in OWN),
        *(f"{machine.removesuffix('Machine')}Failed" for machine in resources(MACHINE)),
        *("TurnsFail", "ModelRefused", "DoorsThrottled", "UrlsFail", "FunctionsFail", "FunctionsThrottled"),
        *("MailsFail", "VariantFails", "CostOfDayHigh", "DeadLettersWait"),
    }
    assert drilled == {*resources("AWS::CloudWatch::Alarm")}
