"""What every state of every workflow keeps to, called as its function is called."""

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from infra.local.aws_functions import Context
from infra.local.model_server import ModelServer
from qwestly_agent import container
from qwestly_agent.base.errors import AgentError, Braked
from qwestly_agent.stores import briefings, journal, runs
from qwestly_agent.workflow import Side, Workflow
from qwestly_agent.workflow_state import StateFunction, UserState
from qwestly_agent.workflows import WORKFLOWS
from tests.statemachines.conftest import Person, World


class Conforming(NamedTuple):
    workflow: Workflow
    side: Side
    state: StateFunction[Any, Any]


STATES = [
    Conforming(workflow, side, state)
    for workflow in WORKFLOWS
    for side in workflow.sides
    for state in workflow.states(side).values()
]
OF_ONE_USER = [each for each in STATES if issubclass(each.state.model, UserState)]
IDS = {
    "run_id": "r1",
    "draft_id": "d1",
    "conversation_id": "c1",
    "seq": 1,
    "window_from": 31,
    "briefing_id": "b1",
    "resume_id": "res1",
    "lesson_id": "les1",
}
"""With the user's id all that a state demands of its input: what an execution was begun with by the version before."""
LEFT_BY: Mapping[str, set[str]] = {"gather": {briefings.COLLECTION}, "plan": {journal.COLLECTION}}
"""Records of a run that found nothing, by the state that begins them."""
OF_A_LATER_VERSION = {"added_later": {"by": "another version"}}


def of_each(states: Sequence[Conforming]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("each", states, ids=lambda each: f"{each.workflow.name}-{each.state.name}")


each_state, each_state_of_one_user = of_each(STATES), of_each(OF_ONE_USER)
each_state_that_the_brake_stops = of_each([each for each in OF_ONE_USER if not each.state.under_brake])


def call(each: Conforming, given: Mapping[str, Any]) -> Any:
    """Its output as the state machine reads it, or the code of its error."""
    event = json.loads(json.dumps({"state": each.state.name, "given": given}))
    try:
        return json.loads(json.dumps(container.serve(each.workflow, each.side)(event, Context("conforming", 128, 30))))
    except AgentError as error:
        return error.code


@each_state
def test_a_state_takes_the_input_of_another_version(each: Conforming) -> None:
    """With no more than the ids, and with fields that this version does not know."""
    given = each.state.model.model_validate({"user_id": "auth0|ada", **IDS, **OF_A_LATER_VERSION})
    assert OF_A_LATER_VERSION.keys().isdisjoint(given.out)
    assert each.state.model.model_validate(given.out) == given
    assert each.state.model.model_validate_json(json.dumps(given.out)) == given


@each_state_of_one_user
def test_a_state_of_an_unknown_user_ends_the_same_way_twice_and_leaves_nothing(
    world: World, model: ModelServer, someone: Person, each: Conforming
) -> None:
    given = {**IDS, "user_id": someone.user_id}
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
    assert call(each, {**IDS, "user_id": someone.user_id}) == Braked.code
    assert world.left_of(someone.user_id) == before
    assert not model.requests
    assert not [*world.database[runs.COLLECTION].find({"user_id": someone.user_id, "stopped_at": None})]


# --- delivered twice --------------------------------------------------------------------------------------------------


def its_tests(workflow: Workflow) -> ModuleType:
    return import_module(f"tests.statemachines.test_{workflow.name}")


WITH_KILLS = {"generate_card", "scout_jobs", "write_draft"}
"""Workflows whose own tests kill or repeat each state, and count what each model was asked."""


@pytest.mark.thorough
@pytest.mark.parametrize(
    "workflow", [each for each in WORKFLOWS if each.name not in WITH_KILLS], ids=lambda each: each.name
)
def test_a_state_that_is_delivered_twice_answers_the_same_and_does_nothing_a_second_time(
    world: World, model: ModelServer, workflow: Workflow
) -> None:
    """`runs_once` of the workflow's own tests runs an execution to its end."""
    with world.delivered_twice(workflow) as delivered:
        its_tests(workflow).runs_once(world, model)
    assert delivered
