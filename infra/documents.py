"""Generate the parts of the documents and of the templates that follow from declarations and state machines.

`make docs` writes each between its two markers, `<!-- NAME: made by make docs -->` and `<!-- end of NAME -->`; in YAML
they are comments.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import get_args

from benchmarks import capacity, costs
from benchmarks.capacity import CLUSTERS, PROMISED
from infra import template_parts
from infra.diagram import diagram
from infra.doctor.quotas import UNRESERVED, connections_of, reserved_by, reserved_by_all
from infra.local.environment import VARIABLES
from infra.mongo.atlas import roles_and_users
from infra.stages import Stage, stage_names
from qwestly_agent.base.settings import Settings
from qwestly_agent.domain.activity import OTHER_EVENTS, Role
from qwestly_agent.platform.collection import Expires, MongoCollection
from qwestly_agent.stores import collections
from qwestly_agent.workflows import ACTIONS, WORKFLOWS

ROOT = Path(__file__).parents[1]
DOCUMENTS = (
    ROOT / "template.yaml",
    ROOT / "infra/atlas.yaml",
    *(
        ROOT / "docs" / f"{name}.md"
        for name in ("approvals", "architecture", "capacity", "data", "runbook", "settings")
    ),
)
LLMS = ROOT / "docs/llms.txt"
SIGNATURES = ROOT / "tests/unit/approvals/signatures.json"
"""The digests of each action's arguments; earlier ones have the date on which they were replaced."""
PART = re.compile(r"((?:<!--|#) (\w+): made by make docs(?: -->)?\n).*?( *(?:<!--|#) end of \2\b)", re.DOTALL)


def collections_table() -> Iterator[str]:
    yield "| collection | contents | retention |\n|---|---|---|"
    for each in sorted(collections(), key=lambda each: (bool(each.no_user_reason), each)):
        holds = each.holds or f"nothing about a user: {in_line(each.no_user_reason)}"
        yield f"| `{each}` | {holds} | {retention_text(each)} |"


def retention_text(collection: MongoCollection) -> str:
    match collection.retention:
        case Expires() as expires:
            return f"{period(expires.after)} {expires.since}".strip()
        case stays:
            return in_line(stays.reason) if collection.no_user_reason else "until the user erases it"


def in_line(sentence: str) -> str:
    return f"{sentence[0].lower()}{sentence[1:].rstrip('.')}"


def period(time: timedelta) -> str:
    count, unit = (time.days, "day") if time.days else (time.seconds // 3_600, "hour")
    return f"{count} {unit}{'' if count == 1 else 's'}"


def workflows_table() -> Iterator[str]:
    yield "| workflow | input, to result | reader's states | writer's states | more |\n|---|---|---|---|---|"
    for each in sorted(WORKFLOWS, key=lambda each: each.name):
        reader, writer = (
            ", ".join(f"`{state.rpartition('.')[2]}`" for state in states)
            for states in ((*each.opener, *each.reader), (*each.writer, *filter(None, [each.sweep])))
        )
        yield f"| `{each.name}` | {each.summary} | {reader} | {writer} | {each.page} |"


def executions_table() -> Iterator[str]:
    yield "| machine | name of an execution | what to do after a failure |\n|---|---|---|"
    for each in sorted(WORKFLOWS, key=lambda each: each.name):
        yield f"| `{each.name}` | {each.execution_name or each.receipt_name} | {each.recovery} |"


def receipt_table() -> Iterator[str]:
    yield "| workflow | name in the receipt |\n|---|---|"
    for each in sorted(WORKFLOWS, key=lambda each: each.name):
        yield f"| `{each.name}` | {each.receipt_name} |"


def actions_table() -> Iterator[str]:
    yield "| tool | effect | expires after | editable | decidable by link |\n|---|---|---|---|---|"
    for each in ACTIONS.values():
        waits = f"{each.hours / 24:g} days" if each.hours > 48 else f"{each.hours:g} h"
        editable = ", ".join(f"`{name}`" for name in each.editable)
        by_link = "yes" if each.is_link_allowed else "no"
        yield f"| `{each.tool}` | `{each.effect}` | {waits} | {editable} | {by_link} |"


def events_text() -> Iterator[str]:
    *roles, last = (f"`{role}`" for role in get_args(Role))
    yield f"`role` is {', '.join(roles)} or {last}.\n`type` is one of these:\n"
    yield "| `type` | |\n|---|---|"
    notes = {tuple(each.events): each.events_note for each in collections() if each.events}
    notes |= {(each,): note for each, note in OTHER_EVENTS.items()}
    for types, note in sorted(notes.items()):
        names = list[str]()
        for subject, of_subject in groupby(types, lambda each: each.partition(".")[0]):
            first, *more = of_subject
            names += first, *(each.removeprefix(subject) for each in more)
        yield f"| {', '.join(f'`{name}`' for name in names)} | {note} |"


def load_table() -> Iterator[str]:
    yield capacity.table(max(PROMISED))


def sizes_table() -> Iterator[str]:
    yield costs.sizes()


def costs_tables() -> Iterator[str]:
    yield costs.tables()


def reserved_table() -> Iterator[str]:
    yield "| stage | reserved executions | connections at most | smallest cluster that accepts these |"
    yield "|---|---|---|---|"
    for name in stage_names():
        stage = Stage.load(name)
        most = connections_of(stage)
        accepting = ((size, each.connections) for size, each in CLUSTERS.items() if most <= each.connections)
        cluster = next(f"{size} ({most / of:.0%})" for size, of in accepting)
        yield f"| {name} | {reserved_by(stage)} | {most:,} | {cluster} |"
    yield f"| all, with the {UNRESERVED} that AWS keeps | {reserved_by_all() + UNRESERVED} | | |"


def settings_table() -> Iterator[str]:
    yield "| variable | default | meaning |\n|---|---|---|"
    for name, default, meaning in settings():
        yield f"| `{name}` | {default} | {meaning} |"


def settings() -> Iterator[tuple[str, str, str]]:
    """Return each setting's variable, its default, and the docstring below its field."""
    [declared] = ast.parse(inspect.getsource(Settings)).body
    assert isinstance(declared, ast.ClassDef)
    for each, below in pairwise(declared.body):
        match each, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(meaning))):
                default = str(getattr(Settings, name, "")).removesuffix(".0")
                is_required = not hasattr(Settings, name)
                shown = "required" if is_required else f"`{default}`" if default else ""
                yield name.upper(), shown, " ".join(meaning.split())
            case _:
                pass


def variables_table() -> Iterator[str]:
    yield "| variable | meaning (local default) |\n|---|---|"
    for name, meaning in VARIABLES.items():
        yield f"| `{name}` | {meaning} |"


PARTS = {
    "actions": actions_table,
    "alarms": template_parts.alarms,
    "calls": diagram,
    "collections": collections_table,
    "costs": costs_tables,
    "dashboard": template_parts.dashboard,
    "databaseRoles": roles_and_users,
    "events": events_text,
    "executions": executions_table,
    "load": load_table,
    "machines": template_parts.machines,
    "receipt": receipt_table,
    "reserved": reserved_table,
    "settings": settings_table,
    "sizes": sizes_table,
    "variables": variables_table,
    "workflows": workflows_table,
}


def with_parts(text: str) -> str:
    """Return the document with its generated parts updated. Raises `KeyError` for an unknown part."""
    return PART.sub(lambda part: f"{part[1]}{_made(part[2])}{part[3]}", text)


@cache
def _made(part: str) -> str:
    """Return the text of a part; some parts are in several documents."""
    return "".join(f"{line}\n" for line in PARTS[part]())


def llms_text() -> str:
    """Return docs/integrate.md as a coding agent reads it (https://llmstxt.org): alone, with a list of the other
    pages."""
    page = (ROOT / "docs/integrate.md").read_text(encoding="utf-8")
    title, _, text = page.partition("\n")
    text = text.strip().replace(" For coding agents the page is [llms.txt](llms.txt).", "")
    return f"{title}\n\n{SUMMARY}\n\n{text}\n\n## Optional\n\n{''.join(map(_listed, sorted(ROOT.glob('docs/*.md'))))}"


SUMMARY = """\
> Build a page on Qwestly's agent from this file alone: follow "In ten minutes" in order, copy its files unchanged, and
> type-check before you run. Each block of code is a whole file, named in its first line, and is run by a test. Types of
> all routes are in `node_modules/@qwestly/agent-client/dist/schema.d.ts`; a running agent serves them as
> `/api/openapi.json`. Never put the shared secret into a browser."""


def _listed(document: Path) -> str:
    """Return a link with the page's first sentence; empty for the page itself."""
    title, _, text = document.read_text(encoding="utf-8").partition("\n")
    if document.name == "integrate.md":
        return ""
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    first = re.split(r"(?<=\.)\s", paragraph, maxsplit=1)[0].rstrip(":")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", first)
    return f"- [{title.lstrip('# ')}]({document.name}): {plain}\n"


def with_new_actions(signatures: str) -> str:
    """Return the listed signatures, plus the current one of each action that is not listed yet."""
    listed = json.loads(signatures)
    new = {tool: [{"digest": action.schema_digest}] for tool, action in ACTIONS.items() if tool not in listed}
    return json.dumps({**listed, **new}, indent=1) + "\n"


if __name__ == "__main__":
    LLMS.write_text(llms_text(), encoding="utf-8")
    SIGNATURES.write_text(with_new_actions(SIGNATURES.read_text(encoding="utf-8")), encoding="utf-8")
    for document in DOCUMENTS:
        document.write_text(with_parts(document.read_text(encoding="utf-8")), encoding="utf-8")
