"""Every path from a user's message to a memory, with the real state machine and handlers."""

import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

import pytest
from pymongo.errors import AutoReconnect

from infra.local.aws_functions import Handler
from infra.local.model_faults import FaultStatus
from infra.local.model_server import ModelServer, Reply
from infra.mongo.indexes import INDEXES
from qwestly_agent import container
from qwestly_agent.approvals.decide import Decision, decide, decide_and_follow_up
from qwestly_agent.approvals.end import expire
from qwestly_agent.base.errors import (
    Braked,
    Internal,
    ModelRefused,
    ModelUnavailable,
    NotFound,
    Unavailable,
)
from qwestly_agent.base.settings import Settings
from qwestly_agent.domain.approval import Approval, Verb
from qwestly_agent.memory import extract_writer
from qwestly_agent.memory.model import ExtractionState
from qwestly_agent.services import ModelServices
from qwestly_agent.stores.conversations import SILENCE_SECONDS
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.usage import StageDay
from tests.functions.talking import Talk
from tests.servers import until
from tests.statemachines.conftest import TEMPLATE, Case, World
from tests.statemachines.slots import Throttled

T = TypeVar("T")

MACHINE = TEMPLATE.name("ExtractMemoriesMachine")
FOLDER = "extract_memories"
SECRET = "I was diagnosed with diabetes in 2019."
READ = ["extract", "reconcile", "store", "move_watermark"]
_turns = count(1)


@dataclass
class Speaker:
    """A user of only one test."""

    world: World
    model: ModelServer
    user_id: str = field(default_factory=lambda: f"auth0|{uuid.uuid4().hex}")

    def talk(self, work: Callable[[Talk], Awaitable[T]]) -> T:
        async def talked(services: ModelServices) -> T:
            talk = Talk(services, self.world.clock, self.model, self.user_id)
            talk.turns = next(_turns) * 100
            return await work(talk)

        return container.model_services.run(talked)

    def says(self, *said: str, conversation_id: str = "c1") -> None:
        self.talk(lambda talk: talk.says(*said, conversation_id=conversation_id))

    def remembered(self, status: str = "active") -> list[str]:
        return self.talk(lambda talk: talk.remembered(status))

    def statuses(self) -> Counter[str]:
        return Counter(each["status"] for each in self.documents("user_memories"))

    def documents(self, collection: str) -> list[dict[str, Any]]:
        return list(self.world.database[collection].find({"user_id": self.user_id}))

    def conversation(self, conversation_id: str = "c1") -> dict[str, Any]:
        [found] = [each for each in self.documents("agent_conversations") if each["id"] == conversation_id]
        return found

    def given(self, conversation_id: str = "c1") -> dict[str, str]:
        return {"user_id": self.user_id, "conversation_id": conversation_id, "run_id": "end-1"}

    def asked(self, times: int = 1) -> Approval:
        def found() -> list[Approval]:
            approvals = self.world.run(lambda services: services.approvals.list_all(self.user_id, 20))
            return approvals if len(approvals) == times else []

        return until(found, 60)[0]

    def decides(self, decision: Verb, how: Callable[..., Awaitable[Any]] = decide_and_follow_up) -> None:
        asked = self.asked()
        answer = Decision(decision=decision, args_digest=asked.args_digest)
        self.world.run(lambda services: how(services, self.user_id, asked.id, answer, by="queue", where="the test"))

    def waits_no_longer(self) -> None:
        """The state's wait of a week is over."""
        asked = self.asked()
        sealed = asked.task_token or ""
        self.world.aws.let_time_out(self.world.run(lambda services: services.workflows.opened(sealed, asked.id)))

    def pulls_the_brake(self) -> None:
        self.world.run(lambda services: services.signals.turn_brake_on(self.user_id, self.world.clock()))


@pytest.fixture(scope="module", autouse=True)
def _indexes(world: World) -> None:
    _make_indexes(world)


def _make_indexes(world: World) -> None:
    for name in ("user_memories", "agent_extractions", "agent_conversations", "agent_messages"):
        world.database[name].create_indexes(INDEXES[name])


@pytest.fixture
def speaker(world: World, model: ModelServer) -> Iterator[Callable[[], Speaker]]:
    yield lambda: Speaker(world, model)
    world.database["agent_conversations"].delete_many({})  # the sweep reads every user's conversations


@pytest.fixture
def ada(speaker: Callable[[], Speaker]) -> Speaker:
    return speaker()


@pytest.fixture
def bob(speaker: Callable[[], Speaker]) -> Speaker:
    return speaker()


def silence(world: World) -> str:
    """Fire the schedule ten minutes later, and return the execution."""
    world.clock.advance(SILENCE_SECONDS)
    return world.aws.start(MACHINE)


def ends(world: World, execution: str) -> list[str]:
    """Return its states, once it has ended successfully."""
    outcome = world.aws.outcome(execution)
    assert (outcome.status, outcome.states[-1]) == ("SUCCEEDED", "done"), outcome
    return outcome.states


def failing(who: Speaker, error: Exception, times: int = 100) -> tuple[Callable[[Handler], Handler], list[Any]]:
    """A state that fails so often for one user, and the inputs it received."""
    handed: list[Any] = []

    def wrapped(own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            if event["user_id"] == who.user_id:
                handed.append(event)
                if len(handed) <= times:
                    raise error
            return own(event, context)

        return handler

    return wrapped, handed


def case(world: World, model: ModelServer) -> Case:
    user = Speaker(world, model)
    world.database["agent_conversations"].delete_many({})
    _make_indexes(world)
    user.says("I live in Lisbon.", SECRET)

    def begin() -> str:
        world.clock.advance(extract_writer.POSTPONED_SECONDS)
        begun.append(silence(world))
        return begun[-1]

    def answer() -> None:
        def asked() -> bool:
            return bool(world.run(lambda services: services.approvals.list_all(user.user_id, 20)))

        until(lambda: asked() or not world.runs(begun[-1]), 60)
        if asked():
            with world.one_at_a_time:
                user.decides("approve")

    begun = list[str]()
    aside = frozenset({"retry_later", "summarize"})
    return Case(world, user.user_id, begin, lambda: len(user.remembered()) == 2, answer, unreached=aside)


# --- from silence to memory -------------------------------------------------------------------------------------------


def test_memories_are_extracted_after_ten_minutes_of_silence(ada: Speaker, world: World) -> None:
    ada.says("I live in Lisbon.", "I speak German.")
    states = ends(world, silence(world))
    assert ada.remembered() == ["Lives in Lisbon.", "Speaks German."]
    assert states == [
        *("which", "sweep", "read_conversations", *READ),
        *("ask_people", "anything_sensitive", "nothing_to_ask", "find_refused", "any_refused", "done"),
    ]


def test_an_extracted_message_is_found_by_meaning_until_it_is_forgotten(ada: Speaker, world: World) -> None:
    ada.says("I photographed a zebra in Lisbon", "Yes.")
    ends(world, silence(world))

    def found(query: str) -> list[tuple[str, bool]]:
        async def searched(talk: Talk) -> list[tuple[str, bool]]:
            [vector] = await talk.services.embeddings.embed([query])
            said = await talk.services.conversation_search.find_messages(ada.user_id, query, vector, 1)
            return [(each.content, has_words) for each, has_words in said]

        return ada.talk(searched)

    assert found("zebras in the wild, photographers") == [("I photographed a zebra in Lisbon", True)]
    assert found("zebras, photographers") == [("I photographed a zebra in Lisbon", False)]
    [kept, _] = [each for each in ada.documents("agent_messages") if each["role"] == "user"]
    assert "vector" in kept
    ada.talk(lambda talk: talk.services.messages.exclude_run_from_prompts(ada.user_id, kept["run_id"]))
    assert found("zebras, photographers") == []
    assert not any("vector" in each for each in ada.documents("agent_messages"))


def test_nothing_is_read_if_no_conversation_is_silent(ada: Speaker, world: World) -> None:
    ada.says("I live in Lisbon.")
    assert ends(world, world.aws.start(MACHINE)) == [
        *("which", "sweep", "read_conversations", "ask_people", "find_refused", "any_refused", "done")
    ]
    assert ada.remembered() == []


def test_an_ended_conversation_is_read_alone_and_at_once(ada: Speaker, world: World) -> None:
    ada.says("I live in Lisbon.")
    ada.says("I speak German.", conversation_id="c2")
    states = ends(world, world.aws.start(MACHINE, ada.given()))
    assert states[:3] == ["which", "this_one", "read_conversations"]
    assert ada.remembered() == ["Lives in Lisbon."]


@pytest.mark.thorough
def test_the_schedule_reads_silent_conversations(ada: Speaker, world: World) -> None:
    ada.says("I live in Lisbon.")
    world.clock.advance(SILENCE_SECONDS)
    world.aws.fire(world.aws.schedules[TEMPLATE.name("ExtractMemoriesSchedule")], world.clock())
    until(ada.remembered, 60)


@pytest.mark.thorough
def test_many_conversations_are_read_in_one_run(ada: Speaker, bob: Speaker, world: World) -> None:
    for number in range(6):
        ada.says(f"I worked at Firm{number}.", conversation_id=f"c{number}")
    bob.says("I speak German.")
    states = ends(world, silence(world))
    assert states.count("extract") == 7
    assert len(ada.remembered()) == 6
    assert bob.remembered() == ["Speaks German."]


# --- what is sensitive ------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_sensitive_memory_is_stored_only_after_a_yes(ada: Speaker, world: World) -> None:
    ada.says("I live in Lisbon.", SECRET)
    execution = silence(world)
    approval = ada.asked()
    assert (approval.kind, approval.conversation_id, approval.answer) == ("memory", "c1", "queue")
    assert ada.remembered() == ["Lives in Lisbon."]
    assert len(ada.remembered("proposed")) == 1
    ada.decides("approve")
    assert ends(world, execution)[-5:-2] == ["ask_approval", "keep_approved", "find_refused"]
    assert ada.asked().status == "done"
    assert ada.statuses() == {"active": 2}
    assert "diabetes" not in str([*ada.documents("agent_approvals"), *ada.documents("agent_extractions")])


@pytest.mark.thorough
def test_a_rejected_sensitive_memory_is_deleted_and_not_asked_about_again(ada: Speaker, world: World) -> None:
    ada.says(SECRET)
    execution = silence(world)
    ada.decides("reject")
    ends(world, execution)
    assert ada.statuses() == {"forgotten": 1}
    kept = [ada.documents(each) for each in ("user_memories", "agent_approvals", "agent_extractions")]
    assert "diabetes" not in str(kept)
    ada.says(SECRET, conversation_id="c2")
    ends(world, silence(world))
    assert ada.statuses() == {"forgotten": 1}


@pytest.mark.thorough
@pytest.mark.parametrize("swept", [False, True])
def test_a_sensitive_memory_is_dropped_if_undecided_for_a_week(ada: Speaker, world: World, swept: bool) -> None:
    ada.says(SECRET)
    execution = silence(world)
    asked = ada.asked()
    world.clock.now = asked.expires_at + 60
    if swept:  # and the sweeping process died before the execution was notified
        world.run(lambda services: expire(services.approvals, asked, services.clock()))
    ada.waits_no_longer()
    ends(world, execution)
    assert ada.asked().status == "expired"
    assert ada.statuses() == {}


@pytest.mark.thorough
def test_a_yes_in_the_last_second_counts_despite_the_timeout(ada: Speaker, world: World) -> None:
    ada.says(SECRET)
    execution = silence(world)
    world.clock.now = ada.asked().expires_at - 1.5
    ada.decides("approve", decide)
    ada.waits_no_longer()
    ends(world, execution)
    assert ada.statuses() == {"active": 1}


@pytest.mark.thorough
def test_an_undecided_user_delays_neither_others_nor_their_own_next_memories(
    ada: Speaker, bob: Speaker, world: World
) -> None:
    ada.says(SECRET)
    ada.says("I speak German.", conversation_id="c2")
    bob.says(SECRET)
    execution = silence(world)
    ada.asked()
    bob.asked()
    assert ada.remembered() == ["Speaks German."]
    bob.decides("approve")
    until(lambda: bob.statuses() == {"active": 1}, 60)
    assert ada.asked().status == "pending"
    ada.says("I live in Lisbon.", conversation_id="c3")
    ends(world, silence(world))
    assert ada.remembered() == ["Lives in Lisbon.", "Speaks German."]
    ada.decides("reject")
    ends(world, execution)


@pytest.mark.thorough
def test_a_question_held_back_by_the_brake_is_asked_later(ada: Speaker, world: World) -> None:
    ada.says(SECRET)
    wrapped, _ = failing(ada, Braked(), times=3)
    with world.instead_of("ask_approval", wrapped, FOLDER):
        execution = silence(world)
        ada.decides("approve")
        ends(world, execution)
    assert ada.statuses() == {"active": 1}


@pytest.mark.thorough
def test_nobody_is_asked_about_memories_already_forgotten(ada: Speaker, bob: Speaker, world: World) -> None:
    ada.says(SECRET)
    bob.says(SECRET)

    def forgetful(own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            answer = own(event, context)
            if event["user_id"] == ada.user_id:
                found = ExtractionState.model_validate(answer).memory_ids
                world.run(lambda services: services.tombstones.forget(ada.user_id, found, services.clock()))
            return answer

        return handler

    with world.instead_of("move_watermark", forgetful, FOLDER):
        execution = silence(world)
        bob.decides("approve")
        ends(world, execution)
    assert ada.documents("agent_approvals") == []
    assert ada.statuses() == {"forgotten": 1}
    assert bob.statuses() == {"active": 1}


@pytest.mark.thorough
@pytest.mark.parametrize(("error", "times"), [(Throttled(), 40), (Unavailable(), 6)], ids=["slot", "database"])
def test_a_question_that_cannot_be_asked_for_long_is_asked_later_without_loss(
    ada: Speaker, world: World, error: Exception, times: int
) -> None:
    ada.says(SECRET)
    wrapped, handed = failing(ada, error, times=times)
    with world.instead_of("ask_approval", wrapped, FOLDER):
        execution = silence(world)
        ada.decides("approve")
        assert ends(world, execution).count("ask_later") == 1
    assert len(handed) == times + 1
    assert ada.statuses() == {"active": 1}


@pytest.mark.thorough
def test_an_answer_for_another_execution_does_not_end_the_wait(ada: Speaker, bob: Speaker, world: World) -> None:
    ada.says(SECRET)
    bob.says(SECRET)
    wrapped, _ = failing(ada, Internal())
    with world.instead_of("keep_approved", wrapped, FOLDER):
        execution = silence(world)
        ada.decides("approve")
        until(lambda: "not_kept" in world.aws.states(execution), 60)
        bob.decides("approve")
        assert "not_kept" in ends(world, execution)
    assert bob.statuses() == {"active": 1}


# --- when it goes wrong -----------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("state", [*READ])
def test_an_unreadable_conversation_fails_alone_and_is_read_later(
    ada: Speaker, bob: Speaker, world: World, state: str
) -> None:
    ada.says("I live in Lisbon.")
    bob.says("I speak German.")
    wrapped, handed = failing(ada, Internal("“I live in Lisbon.” is no number."))
    with world.instead_of(state, wrapped, FOLDER):
        states = ends(world, silence(world))
    assert (states.count("retry_later"), len(handed)) == (1, 1)
    assert bob.remembered() == ["Speaks German."]
    assert ada.conversation()["extract_attempts"] == 1
    ends(world, silence(world))
    assert ada.remembered() == ["Lives in Lisbon."]
    assert ada.conversation()["extract_attempts"] == 0


@pytest.mark.thorough
def test_a_poison_conversation_is_set_aside_with_its_cause_after_limited_retries(ada: Speaker, world: World) -> None:
    ada.says("I live in Lisbon.")
    wrapped, handed = failing(ada, Internal())
    with world.instead_of("extract", wrapped, FOLDER):
        for _ in range(len(extract_writer.TRY_AGAIN_SECONDS) + 3):
            ends(world, silence(world))
            world.clock.advance(max(extract_writer.TRY_AGAIN_SECONDS))
    assert len(handed) == len(extract_writer.TRY_AGAIN_SECONDS) + 1
    [aside] = [
        each
        for each in world.run(lambda services: services.watermarks.list_quarantined(100))
        if each[:2] == (ada.user_id, "c1")
    ]
    assert aside[2]["cause"] == "Internal"


@pytest.mark.thorough
@pytest.mark.parametrize("state", [*READ])
def test_a_conversation_without_a_slot_loses_no_retry_and_is_read_later(
    ada: Speaker, bob: Speaker, world: World, state: str
) -> None:
    ada.says("I live in Lisbon.")
    bob.says("I speak German.")
    wrapped, handed = failing(ada, Throttled())
    with world.instead_of(state, wrapped, FOLDER):
        states = ends(world, silence(world))
    assert (len(handed), states.count("retry_later")) == (31, 1)
    assert bob.remembered() == ["Speaks German."]
    assert ada.conversation()["extract_attempts"] == 0
    world.clock.advance(extract_writer.POSTPONED_SECONDS)
    ends(world, silence(world))
    assert ada.remembered() == ["Lives in Lisbon."]


@pytest.mark.parametrize("how", ["by the sweep", "at once"])
def test_extraction_waits_without_losing_a_retry_when_the_stages_budget_is_short(
    ada: Speaker, world: World, model: ModelServer, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nine_tenths(_: StageDay, __: float, share: float) -> bool:
        return share <= 0.9

    ada.says("I live in Lisbon.")
    with monkeypatch.context() as patch:
        patch.setattr(StageDay, "is_spent", nine_tenths)
        states = ends(world, silence(world) if how == "by the sweep" else world.aws.start(MACHINE, ada.given()))
    assert states.count("retry_later") == (how == "at once")
    assert (model.requests, ada.conversation().get("extract_attempts", 0)) == ([], 0)
    world.clock.advance(extract_writer.POSTPONED_SECONDS)
    ends(world, silence(world))
    assert ada.remembered() == ["Lives in Lisbon."]


@pytest.mark.nightly
@pytest.mark.thorough
def test_forty_conversations_ended_at_once_lose_no_retry(speaker: Callable[[], Speaker], world: World) -> None:
    people = [speaker() for _ in range(40)]
    for each in people:
        each.says("I live in Lisbon.")
    with world.slots("ExtractMemoriesReaderFunction", 4, crowded=True) as slots:
        executions = [world.aws.start(MACHINE, each.given()) for each in people]
        outcomes = [world.aws.outcome(each, 120) for each in executions]
    assert slots.refused
    assert {each.states[-1] for each in outcomes} == {"done"}
    assert not [each for each in outcomes if "retry_later" in each.states]
    assert all(each.conversation()["extract_attempts"] == 0 for each in people)
    assert all(each.remembered() == ["Lives in Lisbon."] for each in people)


def test_no_model_is_called_under_the_brake(ada: Speaker, world: World, model: ModelServer) -> None:
    ada.says("I live in Lisbon.")
    ada.pulls_the_brake()
    ends(world, silence(world))
    assert not model.requests
    assert ada.remembered() == []


@pytest.mark.thorough
@pytest.mark.parametrize("state", ["extract", "reconcile"])
def test_an_unreachable_model_is_retried(ada: Speaker, world: World, state: str) -> None:
    ada.says("I live in Lisbon.")
    wrapped, handed = failing(ada, ModelUnavailable(), times=3)
    with world.instead_of(state, wrapped, FOLDER):
        states = ends(world, silence(world))
    assert (len(handed), states.count("retry_later")) == (4, 0)
    assert ada.remembered() == ["Lives in Lisbon."]


@pytest.mark.sentinel
@pytest.mark.thorough
def test_a_conversation_is_read_later_if_the_model_stays_unreachable(
    ada: Speaker, world: World, model: ModelServer
) -> None:
    ada.says("I live in Lisbon.")
    model.fault = Reply(fault=503)
    assert "retry_later" in ends(world, silence(world))
    assert ada.conversation()["extract_attempts"] == 1
    model.fault = None
    ends(world, silence(world))
    assert ada.remembered() == ["Lives in Lisbon."]


@pytest.mark.thorough
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404])
def test_a_provider_that_rejects_all_requests_fails_the_execution_without_setting_aside(
    ada: Speaker, world: World, model: ModelServer, status: FaultStatus
) -> None:
    ada.says("I live in Lisbon.")
    model.fault = Reply(fault=status)
    for _ in range(len(extract_writer.TRY_AGAIN_SECONDS) + 2):
        assert refused(world, silence(world))
        world.clock.advance(extract_writer.POSTPONED_SECONDS)
    assert ada.conversation()["extract_attempts"] == 0
    assert len(model.requests) == len(extract_writer.TRY_AGAIN_SECONDS) + 2, "it is asked once an hour"
    model.fault = None
    ends(world, silence(world))
    assert ada.remembered() == ["Lives in Lisbon."]


@pytest.mark.thorough
def test_an_embeddings_provider_that_rejects_requests_fails_the_execution(
    ada: Speaker, world: World, model: ModelServer
) -> None:
    ada.says("I live in Lisbon.")
    model.embeddings_fault = 401
    assert refused(world, silence(world))
    assert ada.conversation()["extract_attempts"] == 0
    model.embeddings_fault = None
    world.clock.advance(extract_writer.POSTPONED_SECONDS)
    ends(world, silence(world))
    assert ada.remembered() == ["Lives in Lisbon."]


def test_a_provider_refusing_a_conversations_content_fails_only_that_one(
    ada: Speaker, world: World, model: ModelServer
) -> None:
    ada.says("I live in Lisbon.")
    model.fault = Reply(fault="content_risk")
    assert "retry_later" in ends(world, silence(world))
    assert ada.conversation()["extract_attempts"] == 1


@pytest.mark.thorough
def test_memories_from_others_text_are_asked_about_before_the_execution_fails(
    ada: Speaker, bob: Speaker, world: World
) -> None:
    ada.says("I live in Lisbon.")
    bob.says(SECRET)
    wrapped, _ = failing(ada, ModelRefused())
    with world.instead_of("extract", wrapped, FOLDER):
        execution = silence(world)
        bob.decides("approve")
        assert refused(world, execution)
    assert bob.statuses() == {"active": 1}


def refused(world: World, execution: str) -> bool:
    outcome = world.aws.outcome(execution)
    return (outcome.status, outcome.error, outcome.states[-1]) == ("FAILED", "ModelRefused", "model_refused")


@pytest.mark.thorough
def test_a_short_database_outage_loses_nothing(ada: Speaker, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    own, tries = Memories.add, count(1)

    async def away(self: Memories, *args: Any, **more: Any) -> bool:
        if next(tries) <= 2:
            raise AutoReconnect("mongodb.internal:27017: connection closed")
        return await own(self, *args, **more)

    monkeypatch.setattr(Memories, "add", away)
    ada.says("I live in Lisbon.")
    states = ends(world, silence(world))
    assert "retry_later" not in states
    assert ada.remembered() == ["Lives in Lisbon."]


@pytest.mark.thorough
def test_a_conversation_whose_failure_cannot_be_recorded_is_due_again(ada: Speaker, bob: Speaker, world: World) -> None:
    ada.says("I live in Lisbon.")
    bob.says("I speak German.")
    fails, _ = failing(ada, Internal())
    lost, _ = failing(ada, NotFound())
    with world.instead_of("extract", fails, FOLDER), world.instead_of("retry_later", lost, FOLDER):
        states = ends(world, silence(world))
    assert "left" in states
    assert bob.remembered() == ["Speaks German."]
    world.clock.advance(extract_writer.PICKED_SECONDS)
    ends(world, silence(world))
    assert ada.remembered() == ["Lives in Lisbon."]


def test_a_failing_sweep_raises_the_alarm(ada: Speaker, world: World) -> None:
    def broken(own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            raise Internal

        return handler

    with world.instead_of("sweep", broken, FOLDER):
        outcome = world.aws.outcome(silence(world))
    assert (outcome.status, outcome.error, outcome.states[-1]) == ("FAILED", "Internal", "failed")


@pytest.mark.thorough
def test_no_execution_history_contains_a_message(ada: Speaker, world: World) -> None:
    ada.says("I live in Lisbon.", SECRET)
    execution = silence(world)
    ada.decides("approve")
    ends(world, execution)
    history = world.aws.client("stepfunctions").get_execution_history(executionArn=execution, maxResults=1000)
    assert not [word for word in ("Lisbon", "diabetes") if word in str(history)]


@pytest.mark.thorough
def test_the_data_passed_between_states_stays_small(ada: Speaker, world: World) -> None:
    sizes: list[int] = []

    def weighed(own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            answer = own(event, context)
            sizes.append(len(str(answer)))
            return answer

        return handler

    ada.says(*(f"I worked at Firm{number}." for number in range(20)))
    with world.instead_of("move_watermark", weighed, FOLDER):
        ends(world, silence(world))
    assert max(sizes) * Settings.conversations_a_sweep < 256 * 1024
