"""Rules for every state of every workflow, called as its function is called."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import pytest

from infra.local.aws_functions import Context, Handler
from infra.local.candidate_app import DOCUMENTS, OPERATIONS
from infra.local.model_server import ModelServer, Reply
from infra.machines import ROOT, SOURCES, SUFFIX, read_machine
from infra.mongo import roles
from qwestly_agent import container
from qwestly_agent.account import erase, export
from qwestly_agent.base.errors import AgentError, Braked, ModelUnavailable, StageOverBudget
from qwestly_agent.platform.collection import Document
from qwestly_agent.services import Services
from qwestly_agent.stores import briefings, memory_work, runs
from qwestly_agent.stores.usage import StageDay
from qwestly_agent.workflow import Side, Workflow
from qwestly_agent.workflow_state import StateFunction, UserState
from qwestly_agent.workflows import WORKFLOWS
from tests.minimal_input import minimal_input
from tests.statemachines.conftest import Case, Exited, MakeCase, Person, World, load_case
from tests.statemachines.test_definitions import states_of


class Conforming(NamedTuple):
    workflow: Workflow
    side: Side
    state: StateFunction[Any, Any]


STATES = [
    Conforming(workflow, side, state)
    for workflow in WORKFLOWS
    for side in workflow.sides
    for state in workflow.load_states(side).values()
]
ASKS = "ask_approval"
OPENERS = container.states_of("generate", "opener")
OF_ONE_USER = [each for each in STATES if issubclass(each.state.model, UserState)]
LEFT_BY: Mapping[str, set[str]] = {"gather": {briefings.BRIEFINGS}, "plan": {memory_work.JOURNAL}}
"""Records of a run that found nothing, by the state that creates them."""
CANDIDATE_APPS = {*roles.CANDIDATE_APPS, OPERATIONS, DOCUMENTS}
OF_A_LATER_VERSION = {"added_later": {"by": "another version"}}


def of_each(states: Sequence[Conforming]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("each", states, ids=lambda each: f"{each.workflow.name}-{each.state.name}")


each_state, each_state_of_one_user = of_each(STATES), of_each(OF_ONE_USER)
each_state_that_the_brake_stops = of_each([each for each in OF_ONE_USER if not each.state.ignores_brake])


def call(each: Conforming, given: Mapping[str, Any]) -> Any:
    """Its output as the state machine reads it, or the code of its error."""
    event = json.loads(json.dumps({"workflow": each.workflow.name, "state": each.state.name, "given": given}))
    serve = container.serve_reader if each.side == "reader" else container.serve_writer
    handler = container.serve(OPENERS) if each.side == "opener" else serve(each.workflow.functions)
    try:
        return json.loads(json.dumps(handler(event, Context("conforming", 128, 30))))
    except AgentError as error:
        return error.code


@each_state
def test_a_state_accepts_input_of_another_version(each: Conforming) -> None:
    """Inputs with the required fields only, and with unknown fields."""
    given = each.state.model.model_validate({**minimal_input(each.state.model), **OF_A_LATER_VERSION})
    assert OF_A_LATER_VERSION.keys().isdisjoint(given.out)
    assert each.state.model.model_validate(given.out) == given
    assert each.state.model.model_validate_json(json.dumps(given.out)) == given


@each_state_of_one_user
def test_a_state_for_an_unknown_user_ends_the_same_way_twice_and_stores_nothing(
    world: World, model: ModelServer, someone: Person, each: Conforming
) -> None:
    given = {**minimal_input(each.state.model), "user_id": someone.user_id}
    first = call(each, given)
    left = world.left_of(someone.user_id)
    assert {name for name, documents in left.items() if documents} <= LEFT_BY.get(each.state.name, set[str]())
    assert call(each, given) == first
    assert world.left_of(someone.user_id) == left
    assert not model.requests


@each_state_that_the_brake_stops
def test_the_brake_stops_a_state_before_it_does_anything(
    world: World, model: ModelServer, someone: Person, each: Conforming
) -> None:
    someone.has_a_career()
    someone.pulls_the_brake()
    before = world.left_of(someone.user_id)
    assert call(each, {**minimal_input(each.state.model), "user_id": someone.user_id}) == Braked.code
    assert world.left_of(someone.user_id) == before
    assert not model.requests
    assert not [*world.database[runs.COLLECTION].find({"user_id": someone.user_id, "stopped_at": None})]


# --- whole executions -------------------------------------------------------------------------------------------------


def cases() -> Iterator[Any]:
    """`case` of each workflow's own tests: a user with the needed data, and how they request the work."""
    for workflow in WORKFLOWS:
        for module in (workflow.name, *MORE.get(workflow.name, ())):
            yield pytest.param(workflow, load_case(module), id=module)


MORE = {"generate_card": ("tailored",)}
"""Other paths through the same machine."""
each_case = pytest.mark.parametrize(("workflow", "made"), [*cases()])
CLAIMS = {"sweep"}
"""States that pick up due work: if they die afterwards, the work becomes due again later."""
ITS_OWN = re.compile(r"chatcmpl-\d+|[\w+/=|.:-]*\d[\w+/=|.:-]*\d[\w+/=|.:-]*")
"""Ids, hashes, tokens, times and costs: words with two digits. A revision counts writes."""


@contextmanager
def delivered_twice(world: World, model: ModelServer, workflow: Workflow) -> Iterator[set[str]]:
    """Run each state of one user twice with the same input. The set contains the states that ran; at the end none may
    have returned two different results, changed this user's documents the second time, or called a model again."""
    delivered, unlike = set[str](), list[Any]()

    def twice(state: StateFunction[Any, Any], own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            if not issubclass(state.model, UserState):  # it finds new data, which the first run picks up
                return own(event, context)
            with world.one_at_a_time:
                first = own(event, context)
                left, asked = world.left_of(event["user_id"]), len(model.requests)
                second = own(event, context)
                after = world.left_of(event["user_id"])
                again = [each.path for each in model.requests[asked:]]
            delivered.add(state.name)
            unlike.extend((state.name, each) for each in (first, second) if first != second)
            unlike.extend(
                (state.name, left[name], after[name]) for name in left if untimed(left[name]) != untimed(after[name])
            )
            unlike.extend((state.name, each) for each in again)
            return second

        return handler

    def untimed(documents: Sequence[Document]) -> list[Document]:
        """Return documents without their times, which may differ in a repetition."""
        return [{name: each[name] for name in each if name not in ("updated_at", "expires_at")} for each in documents]

    with world.around(workflow, twice):
        yield delivered
    assert not unlike


@pytest.mark.thorough
@each_case
def test_a_state_delivered_twice_is_idempotent(
    world: World, model: ModelServer, workflow: Workflow, made: MakeCase
) -> None:
    case = made(world, model)
    with delivered_twice(world, model, workflow) as delivered:
        assert case.runs().status == "SUCCEEDED"
    assert case.is_done()
    assert delivered


@contextmanager
def killed(world: World, workflow: Workflow) -> Iterator[Counter[str]]:
    """Each state dies before its work, and again after it. The counter counts the deaths of each."""
    died = Counter[str]()

    def mortal(name: str, own: Handler) -> Handler:
        times = Counter[str]()

        def handler(event: Any, context: Any) -> Any:
            of = f"{event.get('section')} {event.get('round')}"
            times[of] += 1
            if times[of] > (1 if name in CLAIMS else 2):
                return own(event, context)
            if times[of] == 2:
                own(event, context)
            died[name] += 1
            raise Exited

        return handler

    with ExitStack() as closing:
        closing.enter_context(world.around(workflow, lambda state, own: mortal(state.name, own)))
        if workflow.asks:
            closing.enter_context(world.instead_of(ASKS, partial(mortal, ASKS), workflow.name))
        yield died


@pytest.mark.sentinel
@pytest.mark.thorough
@each_case
def test_a_workflow_killed_around_any_state_ends_as_if_never_killed(
    world: World, model: ModelServer, workflow: Workflow, made: MakeCase
) -> None:
    calm = made(world, model)
    assert calm.runs().status == "SUCCEEDED"
    expected = what_is_left(world, model, calm)
    model.reset()
    case = made(world, model)
    with killed(world, workflow) as died:
        assert case.runs().status == "SUCCEEDED"
    assert case.is_done()
    states = {each.state.name for each in STATES if each.workflow == workflow} - {"note_end"}
    assert states - died.keys() == case.unreached
    assert what_is_left(world, model, case) == expected


def what_is_left(world: World, model: ModelServer, case: Case) -> dict[str, Any]:
    """Effects and documents, without ids, times and vectors."""
    left: dict[str, Any] = {name: masked(documents) for name, documents in world.left_of(case.user_id).items()}
    for name in CANDIDATE_APPS:
        left[name] = world.database[name].count_documents({"user_id": case.user_id})
    left["mails"] = len(world.aws.outbox)
    world.aws.outbox.clear()
    left["requests"] = Counter(json.dumps(each.json.get("messages", [""])[0])[:80] for each in model.requests)
    return left


def masked(documents: Sequence[Document]) -> list[str]:
    return sorted(
        ITS_OWN.sub("…", json.dumps({**each, "revision": 0}, default=lambda each: type(each).__name__, sort_keys=True))
        for each in documents
    )


@pytest.mark.thorough
@each_case
def test_a_workflow_resumes_the_day_after_the_stages_budget_ran_out(
    world: World, model: ModelServer, workflow: Workflow, made: MakeCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, waited = made(world, model), list[float]()

    async def is_spent(_: StageDay, now: float, share: float) -> bool:
        return share < 1 and not waited.append(now)

    with monkeypatch.context() as patch:
        patch.setattr(StageDay, "is_spent", is_spent)
        outcome = case.runs()
    assert outcome.status == "SUCCEEDED", "nothing is broken: no alarm rings"
    assert not workflow.reader or waited
    if not case.is_done() and case.told:
        assert StageOverBudget.sentence in case.told()
    assert case.is_done() or case.runs().status == "SUCCEEDED"
    assert case.is_done()


@contextmanager
def away_from(
    world: World, model: ModelServer, workflow: Workflow, away: str
) -> Iterator[dict[str, list[AgentError | None]]]:
    """No model answers this state. It contains the error of each try, by section."""
    tries = defaultdict[str, list[AgentError | None]](list)

    def without(state: StateFunction[Any, Any], own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            if state.name != away:
                return own(event, context)
            with world.one_at_a_time:
                model.fault = Reply(fault=503)
                try:
                    answer = own(event, context)
                    tries[str(event.get("section"))].append(None)
                    return answer
                except AgentError as error:
                    tries[str(event.get("section"))].append(error)
                    raise
                finally:
                    model.fault = None

        return handler

    with world.around(workflow, without):
        yield tries


@contextmanager
def asking(world: World, model: ModelServer, workflow: Workflow) -> Iterator[set[str]]:
    """The states that request text from a model."""
    asked = set[str]()

    def counted(state: StateFunction[Any, Any], own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            with world.one_at_a_time:
                before = len(model.requests)
                answer = own(event, context)
                if any("messages" in each.json for each in model.requests[before:]):
                    asked.add(state.name)
                return answer

        return handler

    with world.around(workflow, counted):
        yield asked


@pytest.mark.thorough
@pytest.mark.parametrize(("workflow", "made"), [each for each in cases() if each.values[0].reader])
def test_without_a_provider_each_state_fails_safely_is_retried_and_its_user_informed(
    world: World, model: ModelServer, workflow: Workflow, made: MakeCase
) -> None:
    with asking(world, model, workflow) as asked:
        assert made(world, model).runs().status == "SUCCEEDED"
    assert asked
    for name in asked:
        model.reset()
        case = made(world, model)
        with away_from(world, model, workflow, name) as of_sections:
            outcome = case.runs()
        tries = max(of_sections.values(), key=len)  # a permanent failure ends the others
        assert {(type(each), str(each)) for each in tries if each} <= {(ModelUnavailable, ModelUnavailable.sentence)}, (
            name
        )
        if tries[-1]:
            assert len(tries) == 1 + tries_more(workflow, name) > 1, name
        if case.is_done():
            continue
        if case.told and tries[-1]:
            assert outcome.status == "FAILED", "its alarm rings"
            assert case.told()
            assert "503" not in case.told()
        assert case.runs().status == "SUCCEEDED"
        assert case.is_done(), name


def tries_more(workflow: Workflow, name: str) -> int:
    """Return the machine's number of retries of a state when no model answers."""
    machine = read_machine(ROOT / SOURCES / f"{workflow.name}{SUFFIX}")
    [state] = [state for state_name, state in states_of(machine) if state_name == name]
    return sum(each["MaxAttempts"] for each in state["Retry"] if ModelUnavailable.__name__ in each["ErrorEquals"])


@pytest.mark.thorough
@each_case
def test_everything_a_workflow_wrote_about_its_user_is_exported_and_erased(
    world: World, model: ModelServer, workflow: Workflow, made: MakeCase
) -> None:
    case = made(world, model)
    assert case.runs().status == "SUCCEEDED"
    left = written_of(world, case.user_id)

    async def exported(services: Services) -> bytes:
        return b"".join([piece async for piece in await export(services.user_data, services.clock, case.user_id)])

    taken = json.loads(world.run(exported))["collections"]
    assert left
    # A sweep's position is not user data, but may be a user's id.
    assert Counter({name: len(documents) for name, documents in taken.items()}) == left - Counter(SWEEPS)
    world.run(lambda services: erase(services, case.user_id))
    assert not written_of(world, case.user_id)


SWEEPS: dict[str, int] = {runs.SWEEPS: 1}


def written_of(world: World, user_id: str) -> Counter[str]:
    """Number of our documents that contain the user's id anywhere, by collection."""
    ours = {*world.database.list_collection_names()} - CANDIDATE_APPS
    return Counter(name for name in ours for each in world.database[name].find() if user_id in repr(each))
