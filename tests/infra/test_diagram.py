"""The diagram in docs/architecture.md is what template.yaml, the state machines and the handlers say."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.local.environment import FUNCTION, MACHINE, ROOT, SCHEDULE, Template
from qwestly_agent.workflow_state import StateFunction
from qwestly_agent.workflows import WORKFLOWS
from tests.reached import functions_reached

TEMPLATE = Template.load()
STACK = TEMPLATE.text(("Sub", "${AWS::StackName}-"))
CARRYING_OUT = {"execute", "decide_and_follow_up"}
"""Whoever calls these has an effect performed."""

ROUTERS = ROOT / "src/qwestly_agent/chat/routers"
"""Of the chat's app, which imports those of workflows by name."""

Edge = tuple[str, str, str]
"""From where, to where, and what is written on the arrow; for some that is nothing."""
Properties = Any


# --- what is drawn ----------------------------------------------------------------------------------------------------


@cache
def drawn() -> str:
    [diagram] = re.findall(r"```mermaid\n(.*?)```", (ROOT / "docs/architecture.md").read_text(), re.DOTALL)
    return diagram


def drawn_edges() -> set[Edge]:
    found = set[Edge]()
    for line in drawn().splitlines():
        if arrow := re.fullmatch(r"\s*(.+?) (?:-->|-\.->)(?:\|\"(.+)\"\|)? (.+)", line):
            ends = ([re.split(r"\W", end.strip())[0] for end in arrow[side].split(" & ")] for side in (1, 3))
            starts, targets = ends
            found |= {(start, target, arrow[2] or "") for start in starts for target in targets}
    return found


def drawn_boxes() -> set[str]:
    """Of functions: a name alone on its line."""
    return set(re.findall(r"^ +(\w+)$", drawn(), re.MULTILINE)) - {"end"}


# --- what there is ----------------------------------------------------------------------------------------------------


def short(name_or_arn: str) -> str:
    """As the diagram writes the name of a function or a machine."""
    name = next(part for part in reversed(name_or_arn.split(":")) if part.startswith(STACK))
    return name.removeprefix(STACK).replace("-", "_")


FUNCTIONS = {short(TEMPLATE.name(each)): body for each, body in TEMPLATE.of_type(FUNCTION).items()}


def of_urls() -> Iterator[Edge]:
    for name, body in FUNCTIONS.items():
        match body.get("FunctionUrlConfig", {}).get("InvokeMode"):
            case "RESPONSE_STREAM":
                yield "user", name, "function URL, streams"
            case "BUFFERED":
                yield "person", name, "function URL"


def of_schedules() -> Iterator[Edge]:
    for body in TEMPLATE.of_type(SCHEDULE).values():
        yield "clock", short(TEMPLATE.text(body["Target"]["Arn"])), body["ScheduleExpression"]
        if any(action == "sqs:SendMessage" for action, _ in TEMPLATE.grants(body["Target"]["RoleArn"])):
            yield "clock", "dead_letters", "what could not be done"


def of_machines() -> Iterator[Edge]:
    for logical_id, body in TEMPLATE.of_type(MACHINE).items():
        for function in body["DefinitionSubstitutions"].values():
            yield short(TEMPLATE.name(logical_id)), short(TEMPLATE.text(function)), ""


def of_grants() -> Iterator[Edge]:
    told = {
        "ses:SendEmail": ("ses", "mails"),
        "kms:Encrypt": ("kms", "seals task tokens"),
        "kms:Decrypt": ("kms", "opens task tokens"),
        "sqs:SendMessage": ("dead_letters", "what could not be done"),
    }
    for name, body in FUNCTIONS.items():
        for action, resource in TEMPLATE.grants(body["Role"]):
            match action:
                case "states:StartExecution":
                    yield name, short(resource), "starts"
                case "states:SendTaskSuccess":
                    yield name, short(resource), "wakes"
                case _ if action in told:
                    yield name, *told[action]


def of_code() -> Iterator[Edge]:
    for name, body in FUNCTIONS.items():
        handler = handler_of(body)
        workflow = next((each for each in WORKFLOWS if each.name == handler.parent.name), None)
        if workflow:
            side = workflow.sides[[*map(str, workflow.sides)].index(handler.stem)]
            asks_models, used = (
                side == "reader",
                names_of_states({**workflow.load_states(side), **workflow.load_sweep(side)}),
            )
        else:
            asks_models = handler.parent.name == "chat" or "container.model_services" in handler.read_text()
            routers = ROUTERS.glob("*.py") if handler.parent.name == "chat" else ()
            used = set[str]().union(*map(names_used_by, (handler, *routers)))
        if asks_models:
            yield name, "models", ""
        if CARRYING_OUT & used:
            yield name, "execute", ""


def names_of_states(states: Mapping[str, StateFunction[Any, Any]]) -> set[str]:
    return {each.__name__ for state in states.values() for each in functions_reached(state.work)}


def handler_of(body: Properties) -> Path:
    module = "app" if body["Handler"].endswith(".sh") else body["Handler"].rpartition(".")[0]
    return ROOT / body["CodeUri"] / f"{module}.py"


def names_used_by(handler: Path) -> set[str]:
    """In the handler, in what it calls of the modules that do its work, and in the modules that it includes whole."""
    tree = ast.parse(handler.read_text())
    used = names_in(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("qwestly_agent."):
            path = ROOT / "src" / (node.module or "").replace(".", "/")
            if path.with_suffix(".py").exists() and node.module != "qwestly_agent.container":
                used |= names_reached(path.with_suffix(".py"), {alias.name for alias in node.names})
            for module in filter(Path.exists, (path / f"{alias.name}.py" for alias in node.names)):
                used |= names_used_by(module)
    return used


def names_reached(module: Path, begun: set[str]) -> set[str]:
    bodies = {node.name: node for node in ast.parse(module.read_text()).body if isinstance(node, ast.AsyncFunctionDef)}
    reached, new = set[str](), set(begun)
    while new:
        reached |= new
        new = {name for each in new & bodies.keys() for name in names_in(bodies[each])} - reached
    return reached


def names_in(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


OF_ALL = {
    ("functions", "mongodb", "reads, writes its own"),
    ("functions", "ssm", "secrets"),
    ("execute", "candidate_app", "changes user data, once"),
    ("parse_resume_writer", "candidate_app", "keeps a text, once"),
}


@pytest.mark.parametrize("edges", [of_urls, of_schedules, of_machines, of_grants, of_code])
def test_each_call_that_there_is_is_drawn(edges: Any) -> None:
    missing = set(edges()) - drawn_edges()
    assert not missing


def test_nothing_is_drawn_that_is_not_there() -> None:
    there = {*of_urls(), *of_schedules(), *of_machines(), *of_grants(), *of_code(), *OF_ALL}
    assert not drawn_edges() - there


def test_each_function_has_its_box_and_each_box_is_a_function() -> None:
    assert drawn_boxes() == FUNCTIONS.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_has_the_database_and_its_secrets_by_reference_as_drawn(name: str) -> None:
    variables = FUNCTIONS[name]["Environment"]["Variables"]
    assert TEMPLATE.text(variables["MONGODB_URI"]).startswith("ssm:")
    has_keys = "DEEPSEEK_API_KEY" in variables
    assert has_keys == ((name, "models", "") in drawn_edges())
