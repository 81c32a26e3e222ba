"""Derive the diagram in docs/architecture.md from template.yaml, the state machines, and the handlers."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from infra.local.environment import FUNCTION, MACHINE, ROOT, SCHEDULE, Template
from infra.reached import functions_reached
from qwestly_agent import container
from qwestly_agent.workflow_state import StateFunction
from qwestly_agent.workflows import WORKFLOWS

Edge: TypeAlias = tuple[str, str, str]
"""Source, target, and the label of the arrow (may be empty)."""
Properties: TypeAlias = Mapping[str, Any]

EXECUTING = {"execute", "decide_and_follow_up"}
"""Functions whose callers cause an effect to be executed."""
ROUTERS = ROOT / "src/qwestly_agent/chat/routers"
"""Imported by the chat's app; those of workflows by name."""

CALLERS = """
  user(["chat widget, useChat"])
  person(["a link in a mail"])
  clock{{"EventBridge Scheduler"}}
""".strip("\n")
SERVICES = """
  models["DeepSeek, OpenAI"]
  execute["approvals/execute.py"]
  candidate_app(["the candidate app"])
  mongodb[("MongoDB Atlas")]
  ssm["Parameter Store"]
  kms["KMS"]
  ses["SES"]
  dead_letters["SQS: dead letters"]
""".strip("\n")
NOT_IN_CODE: tuple[Edge, ...] = (
    ("functions", "mongodb", "reads, writes our collections"),
    ("functions", "ssm", "secrets"),
    ("generate_writer", "candidate_app", "stores a document, once"),
    ("execute", "candidate_app", "changes user data, once"),
)
"""Edges that neither the template nor the handlers declare."""
GRANTS = {
    "ses:SendEmail": ("ses", "mails"),
    "kms:Encrypt": ("kms", "seals task tokens"),
    "kms:Decrypt": ("kms", "opens task tokens"),
    "sqs:SendMessage": ("dead_letters", "failed events"),
}
"""The service and the label of its arrow, by the action that a role allows."""
WAKES = "wakes"
"""Drawn dotted: it returns a task token."""


# --- boxes ------------------------------------------------------------------------------------------------------------


@cache
def template() -> Template:
    return Template.load()


def short(name_or_arn: str) -> str:
    """Return the name of a function or a machine without the stack's name, with `_` for `-`."""
    stack = template().text(("Sub", "${AWS::StackName}-"))
    name = next(part for part in reversed(name_or_arn.split(":")) if part.startswith(stack))
    return name.removeprefix(stack).replace("-", "_")


@cache
def functions() -> Mapping[str, Properties]:
    """Return all functions by name, in the order of the template."""
    return {short(template().name(each)): body for each, body in template().of_type(FUNCTION).items()}


def handler_of(function: Properties) -> Path:
    module = "app" if function["Handler"].endswith(".sh") else function["Handler"].rpartition(".")[0]
    return ROOT / function["CodeUri"] / f"{module}.py"


def states_of(function: Properties) -> list[StateFunction[Any, Any]]:
    """Return the states that a function runs."""
    handler = handler_of(function)
    match handler.stem:
        case "reader" | "writer" as side:
            return [*container.states_of(handler.parent.name, side).values()]
        case "opener":
            return [state for each in WORKFLOWS for state in each.load_states("opener").values()]
        case "clock":
            return [each.load_sweep() for each in WORKFLOWS if each.sweep]
        case _:
            return []


def boxes() -> Iterator[str]:
    """Yield the functions, in a subgraph for each folder that has several."""
    by_folder = defaultdict[str, list[str]](list)
    for name, body in functions().items():
        by_folder[handler_of(body).parent.name].append(name)
    for folder, names in by_folder.items():
        if len(names) == 1:
            yield f"    {names[0]}"
            continue
        yield f'    subgraph functions_{folder} ["functions/{folder}"]'
        yield from (f"      {name}" for name in names)
        yield "    end"


def machines() -> Iterator[str]:
    for logical_id in template().of_type(MACHINE):
        name = short(template().name(logical_id))
        yield f'  {name}[["{name}"]]'


# --- edges ------------------------------------------------------------------------------------------------------------


def of_urls() -> Iterator[Edge]:
    for name, body in functions().items():
        match body.get("FunctionUrlConfig", {}).get("InvokeMode"):
            case "RESPONSE_STREAM":
                yield "user", name, "function URL, streams"
            case "BUFFERED":
                yield "person", name, "function URL"


def of_schedules() -> Iterator[Edge]:
    for body in template().of_type(SCHEDULE).values():
        yield "clock", short(template().text(body["Target"]["Arn"])), body["ScheduleExpression"]


def of_starts() -> Iterator[Edge]:
    yield from _granted("states:StartExecution", "starts")


def of_machines() -> Iterator[Edge]:
    for logical_id, body in template().of_type(MACHINE).items():
        for function in body["DefinitionSubstitutions"].values():
            if function == ("Ref", "AWS::Partition"):
                continue
            yield short(template().name(logical_id)), short(template().text(function)), ""


def of_wakes() -> Iterator[Edge]:
    yield from _granted("states:SendTaskSuccess", WAKES)


def _granted(wanted: str, label: str) -> Iterator[Edge]:
    for name, body in functions().items():
        for action, resource in template().grants(body["Role"]):
            if action == wanted:
                yield name, short(resource), label


def of_models() -> Iterator[Edge]:
    for name, body in functions().items():
        handler = handler_of(body)
        if handler.parent.name == "chat" or handler.stem == "reader":
            yield name, "models", ""


def of_effects() -> Iterator[Edge]:
    for name, body in functions().items():
        if EXECUTING & _names_used(body):
            yield name, "execute", ""


def of_services() -> Iterator[Edge]:
    roles = [("clock", body["Target"]["RoleArn"]) for body in template().of_type(SCHEDULE).values()]
    roles += [(name, body["Role"]) for name, body in functions().items()]
    for allowed, (service, label) in GRANTS.items():
        for name, role in roles:
            if any(action == allowed for action, _ in template().grants(role)):
                yield name, service, label


def not_in_code() -> Iterator[Edge]:
    yield from NOT_IN_CODE


PARAGRAPHS = (
    (of_urls, of_schedules),
    (of_starts, of_machines, of_wakes),
    (of_models, of_effects, not_in_code, of_services),
)


@cache
def edges() -> frozenset[Edge]:
    return frozenset(edge for paragraph in PARAGRAPHS for edges in paragraph for edge in edges())


def _names_used(function: Properties) -> set[str]:
    """Names in all code that a function reaches."""
    handler = handler_of(function)
    routers = ROUTERS.glob("*.py") if handler.parent.name == "chat" else ()
    of_states = {each.__name__ for state in states_of(function) for each in functions_reached(state.work)}
    return of_states.union(*map(_names_used_by, (handler, *routers)))


def _names_used_by(module: Path) -> set[str]:
    """Names in the module, in the functions it calls in the modules that do its work, and in the modules that it
    includes as a whole."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    used = _names_in(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("qwestly_agent."):
            path = ROOT / "src" / (node.module or "").replace(".", "/")
            if path.with_suffix(".py").exists() and node.module != "qwestly_agent.container":
                used |= _names_reached(path.with_suffix(".py"), {alias.name for alias in node.names})
            for included in filter(Path.exists, (path / f"{alias.name}.py" for alias in node.names)):
                used |= _names_used_by(included)
    return used


def _names_reached(module: Path, begun: set[str]) -> set[str]:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    bodies = {node.name: node for node in tree.body if isinstance(node, ast.AsyncFunctionDef)}
    reached, new = set[str](), set(begun)
    while new:
        reached |= new
        new = {name for each in new & bodies.keys() for name in _names_in(bodies[each])} - reached
    return reached


def _names_in(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


# --- the diagram ------------------------------------------------------------------------------------------------------


def diagram() -> Iterator[str]:
    yield "```mermaid\nflowchart LR"
    yield f"{CALLERS}\n"
    yield '  subgraph functions ["every function: a handler over src/qwestly_agent"]'
    yield from boxes()
    yield "  end\n"
    yield from machines()
    yield f"\n{SERVICES}"
    for paragraph in PARAGRAPHS:
        yield ""
        for edges in paragraph:
            yield from arrows(edges())
    yield "```"


def arrows(edges: Iterable[Edge]) -> Iterator[str]:
    """Yield one arrow for all edges with the same label and target boxes."""
    targets = defaultdict[tuple[str, str], list[str]](list)
    for start, target, label in dict.fromkeys(edges):
        targets[label, start].append(target)
    joined = defaultdict[tuple[str, tuple[str, ...]], list[str]](list)
    for (label, start), ends in targets.items():
        joined[label, tuple(ends)].append(start)
    for (label, ends), starts in joined.items():
        line = "-.->" if label == WAKES else "-->"
        words = f'|"{label}"|' if label else ""
        yield f"  {' & '.join(starts)} {line}{words} {' & '.join(ends)}"
