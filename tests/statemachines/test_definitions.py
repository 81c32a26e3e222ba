"""Targets, ends, limits and substitutions of the state machines, which no tool checks."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from infra.local.aws import definition_of
from infra.local.environment import MACHINE, ROOT, Template
from infra.machines import SOURCES, SUFFIX, build, read_machine, source_of
from qwestly_agent.cards.start import ALIVE_SECONDS
from qwestly_agent.memory.extract_writer import PICKED_SECONDS
from qwestly_agent.services import Services
from qwestly_agent.stores.jobs import SEARCHING_SECONDS
from qwestly_agent.workflow import Side, Workflow
from qwestly_agent.workflows import WORKFLOWS
from tests.statemachines.conftest import BY_NAME

TEMPLATE = Template.load()
MACHINES = TEMPLATE.of_type(MACHINE)
State = dict[str, Any]


def states_of(part: dict[str, Any]) -> Iterator[tuple[str, State]]:
    """Yield the states, also those inside a Map."""
    for name, state in part["States"].items():
        yield name, state
        if "ItemProcessor" in state:
            yield from states_of(state["ItemProcessor"])


def parts_of(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The machine, and each Map's own."""
    yield part
    for _, state in states_of(part):
        if "ItemProcessor" in state:
            yield state["ItemProcessor"]


def targets_of(state: State) -> set[str]:
    branches = [state, *state.get("Choices", ()), *state.get("Catch", ())]
    return {branch[key] for branch in branches for key in ("Next", "Default") if key in branch}


@pytest.fixture(params=MACHINES, ids=list(MACHINES))
def machine(request: pytest.FixtureRequest) -> dict[str, Any]:
    return definition_of(TEMPLATE, request.param)


def written(name: str) -> dict[str, Any]:
    """A definition before anything is substituted."""
    return read_machine(TEMPLATE.folder / source_of(MACHINES[name]["DefinitionUri"]))


def test_the_tested_definition_is_the_deployed_one(tmp_path: Path) -> None:
    shutil.copytree(ROOT / SOURCES, tmp_path / SOURCES)
    build(tmp_path)
    for name, machine in MACHINES.items():
        assert json.loads((tmp_path / machine["DefinitionUri"]).read_text()) == written(name)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda each: each.name)
def test_a_state_machine_asks_its_user_as_its_workflow_declares(workflow: Workflow) -> None:
    machine = read_machine(ROOT / SOURCES / f"{workflow.name}{SUFFIX}")
    asking = [state for _, state in states_of(machine) if str(state.get("Resource")).endswith(".waitForTaskToken")]
    assert bool(asking) == bool(workflow.asks)
    assert {state["Parameters"]["Payload"]["workflow"] for state in asking} <= {workflow.name}
    assert not workflow.asks or workflow.load_request()


@pytest.fixture
def tasks(machine: dict[str, Any]) -> dict[str, State]:
    return {name: state for name, state in states_of(machine) if state["Type"] == "Task"}


def test_each_target_exists_and_each_state_is_reachable(machine: dict[str, Any]) -> None:
    for part in parts_of(machine):
        states = part["States"]
        reached, new = set[str](), {part["StartAt"]}
        while new:
            assert new <= states.keys(), new - states.keys()
            reached |= new
            new = {target for name in new for target in targets_of(states[name])} - reached
        assert reached == states.keys()


def test_each_state_has_a_next_state_or_ends(machine: dict[str, Any]) -> None:
    for name, state in states_of(machine):
        ends = state["Type"] in ("Succeed", "Fail") or state.get("End") is True
        assert ends != bool(targets_of({**state, "Catch": []})), name


def test_each_choice_has_a_default(machine: dict[str, Any]) -> None:
    assert not [name for name, state in states_of(machine) if state["Type"] == "Choice" and "Default" not in state]


FOR_A_SLOT = {
    "ErrorEquals": ["Lambda.TooManyRequestsException", "StageOverBudget"],
    "IntervalSeconds": 5,
    "BackoffRate": 1.5,
    "MaxAttempts": 30,
    "MaxDelaySeconds": 60,
    "JitterStrategy": "NONE",  # at random between nothing and so long they would wait half as long
}
OF_LAMBDA = {
    *(f"Lambda.{name}Exception" for name in ("ClientExecutionTimeout", "Service", "AWSLambda", "SdkClient")),
    *(f"Lambda.SnapStart{name}Exception" for name in ("", "NotReady", "Timeout")),
    "Lambda.Unknown",
}
"""Lambda's own transient errors: docs.aws.amazon.com/step-functions/latest/dg/bp-lambda-serviceexception.html."""


def test_each_task_has_a_timeout_and_retries_transient_errors_with_jitter(tasks: dict[str, State]) -> None:
    for name, task in tasks.items():
        assert task["TimeoutSeconds"] > 0, name
        passing = next(each for each in task["Retry"] if "Lambda.ServiceException" in each["ErrorEquals"])
        assert passing["JitterStrategy"] == "FULL", name
        assert set(passing["ErrorEquals"]) >= OF_LAMBDA, name
        assert all(each["MaxAttempts"] <= 10 for each in task["Retry"] if each != FOR_A_SLOT), name


def test_each_task_retries_an_unreachable_service(tasks: dict[str, State]) -> None:
    for name, task in tasks.items():
        assert any("Unavailable" in each["ErrorEquals"] for each in task["Retry"]), name


def test_recording_an_end_is_retried_through_a_ten_minute_outage() -> None:
    noting = [
        state
        for name in MACHINES
        for state_name, state in states_of(definition_of(TEMPLATE, name))
        if state_name == "note_end"
    ]
    assert len(noting) == sum(each.endswith("note_end") for workflow in WORKFLOWS for each in workflow.writer)
    for state in noting:
        retry = next(each for each in state["Retry"] if "Unavailable" in each["ErrorEquals"])
        waits = [min(retry["IntervalSeconds"] * 2**tried, retry["MaxDelaySeconds"]) for tried in range(6)]
        assert (retry["JitterStrategy"], retry["MaxAttempts"], sum(waits) > 600) == ("NONE", 6, True)


def test_waiting_for_a_slot_uses_up_no_other_retry(tasks: dict[str, State]) -> None:
    for name, task in tasks.items():
        mentioned = [each for each in task["Retry"] if "Lambda.TooManyRequestsException" in each["ErrorEquals"]]
        assert mentioned == [FOR_A_SLOT], name


def test_a_run_waiting_for_a_slot_is_neither_restarted_nor_declared_dead() -> None:
    longest = sum(min(5 * 1.5**tried, 60) for tried in range(30))
    assert 25 * 60 < longest < min(ALIVE_SECONDS, PICKED_SECONDS / 2)


def test_a_search_is_not_declared_dead_while_its_execution_waits_and_retries() -> None:
    """A search records its progress in each state."""
    searching = states_of(definition_of(TEMPLATE, "ScoutJobsMachine"))
    assert max(longest_of(state) for _, state in searching if state["Type"] == "Task") < SEARCHING_SECONDS


@pytest.mark.parametrize("workflow", [each for each in WORKFLOWS if each.work], ids=lambda each: each.name)
def test_work_is_not_declared_dead_while_its_execution_waits_and_retries(workflow: Workflow) -> None:
    """Work is checked by its start time, unless it waits for a user."""
    [machine] = [name for name, each in MACHINES.items() if f"/{workflow.name}." in each["DefinitionUri"]]
    tasks = [state for _, state in states_of(definition_of(TEMPLATE, machine)) if state["Type"] == "Task"]
    lasts = sum(longest_of(each) for each in tasks if not each["Resource"].endswith(".waitForTaskToken"))
    assert lasts < Services.__dataclass_fields__[workflow.work].type.alive_seconds


def longest_of(task: State) -> float:
    """Seconds if all its retries are used up; a call that finds no slot takes none."""
    seconds = float(task["TimeoutSeconds"])
    for retry in task["Retry"]:
        rate, most = retry.get("BackoffRate", 2), retry.get("MaxDelaySeconds", 60)
        seconds += sum(min(retry["IntervalSeconds"] * rate**tried, most) for tried in range(retry["MaxAttempts"]))
        seconds += 0 if retry == FOR_A_SLOT else retry["MaxAttempts"] * task["TimeoutSeconds"]
    return seconds


def test_a_function_times_out_before_its_state(machine: dict[str, Any], tasks: dict[str, State]) -> None:
    seconds = {f"{TEMPLATE.arn(name)}:live": TEMPLATE.timeout(name) for name in TEMPLATE.python_functions()}
    for name, task in tasks.items():
        function = task.get("Parameters", {}).get("FunctionName", task["Resource"])
        assert seconds[function] < task["TimeoutSeconds"], name


def test_each_failure_is_caught_including_those_not_in_states_all(machine: dict[str, Any]) -> None:
    inside = {name for part in list(parts_of(machine))[1:] for name in part["States"]}
    for name, state in states_of(machine):
        if state["Type"] not in ("Task", "Map") or name in inside:  # failures inside a Map must be caught by the Map
            continue
        caught = [error for each in state["Catch"] for error in each["ErrorEquals"]]
        assert caught[-1] == "States.ALL", name
        assert {"States.DataLimitExceeded", "States.Runtime"} <= set(caught), name
        assert all(
            each["ErrorEquals"] == ["States.ALL"] or "States.ALL" not in each["ErrorEquals"] for each in state["Catch"]
        )


def test_a_failed_execution_ends_in_a_fail_state(machine: dict[str, Any]) -> None:
    assert [name for name, state in states_of(machine) if state["Type"] == "Fail"]


def test_a_wait_for_a_person_ends_shortly_after_a_week() -> None:
    tasks = [task for machine in MACHINES for _, task in states_of(definition_of(TEMPLATE, machine))]
    waits = [task for task in tasks if task.get("Resource", "").endswith(".waitForTaskToken")]
    assert waits
    for wait in waits:
        assert 7 * 86_400 < wait["TimeoutSeconds"] < 7 * 86_400 + 3_600
        assert not any("States.Timeout" in each["ErrorEquals"] for each in wait["Retry"])


@pytest.mark.parametrize("name", MACHINES)
def test_substitutions_and_placeholders_of_a_definition_match(name: str) -> None:
    assert (
        set(re.findall(r"\$\{(\w+)\}", json.dumps(written(name)))) == MACHINES[name]["DefinitionSubstitutions"].keys()
    )


@pytest.mark.parametrize("name", MACHINES)
def test_each_state_has_the_same_name_in_machine_function_and_package(name: str) -> None:
    """Neither a state of the machine without a function, nor a function or one of its states without the machine."""
    workflow, given = BY_NAME[workflow_of(name)], MACHINES[name]["DefinitionSubstitutions"]
    called: dict[Side, set[str]] = {side: set() for side in workflow.sides}
    for state_name, state in states_of(written(name)):
        if state["Type"] == "Task" and (substitution := re.fullmatch(r"\$\{(\w+)\}", state["Resource"])):
            called[cast("Side", substitution[1].lower())].add(state_name)
            assert state["Parameters"] == {"workflow": workflow.name, "state.$": "$$.State.Name", "given.$": "$"}
    assert called == {side: {*workflow.load_states(side)} for side in workflow.sides}
    for side in workflow.sides:
        function = TEMPLATE.python_functions()[given[side.capitalize()][1].removesuffix(".Alias")]
        folder = "open_files" if side == "opener" else workflow.functions
        assert (function["CodeUri"], function["Handler"]) == (f"functions/{folder}/", f"{side}.handler")
        names = {each.rpartition(".")[2]: each for each in getattr(workflow, side)}
        modules = {each: state.work.__module__ for each, state in workflow.load_states(side).items()}
        derived = {"note_end"} if workflow.work else set()
        assert {each: module for each, module in modules.items() if each not in derived} == {
            each: f"{workflow.package}.{path.rpartition('.')[0] or each}"
            for each, path in names.items()
            if each not in derived
        }


def test_workflows_and_state_machines_correspond() -> None:
    assert sorted(map(workflow_of, MACHINES)) == sorted(BY_NAME)


def workflow_of(machine: str) -> str:
    return Path(MACHINES[machine]["DefinitionUri"]).name.partition(".")[0]


def test_every_workflow_is_served_by_a_function() -> None:
    folders = {path.parent.name for path in (TEMPLATE.folder / "functions").glob("*/writer.py")}
    assert {each.functions for each in WORKFLOWS} == folders


@pytest.mark.parametrize("name", MACHINES)
def test_no_log_contains_data_passed_between_states(name: str) -> None:
    properties = MACHINES[name]
    assert properties["Type"] == "STANDARD"
    assert properties["Logging"]["IncludeExecutionData"] is False
