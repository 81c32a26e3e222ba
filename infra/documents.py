"""Generate the parts of the documents and of template.yaml that follow from declarations and state machines.

`make docs` writes each between its two markers, `<!-- NAME: made by make docs -->` and `<!-- end of NAME -->`; in YAML
they are comments.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from infra import monitoring
from infra.diagram import diagram
from qwestly_agent.stores.collection import Expires, MongoCollection, collections
from qwestly_agent.workflows import WORKFLOWS

ROOT = Path(__file__).parents[1]
DOCUMENTS = (
    ROOT / "template.yaml",
    *(ROOT / "docs" / f"{name}.md" for name in ("approvals", "architecture", "data", "runbook")),
)
PART = re.compile(r"((?:<!--|#) (\w+): made by make docs(?: -->)?\n).*?( *(?:<!--|#) end of \2\b)", re.DOTALL)


def collections_table() -> Iterator[str]:
    yield "| collection | holds | kept |\n|---|---|---|"
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
    yield "| workflow | from input to result | reader's states | writer's states | more |\n|---|---|---|---|---|"
    for each in sorted(WORKFLOWS, key=lambda each: each.name):
        reader, writer = (
            ", ".join(f"`{state}`" for state in states)
            for states in ((*each.opener, *each.reader), (*each.writer, *filter(None, [each.sweep])))
        )
        yield f"| `{each.name}` | {each.summary} | {reader} | {writer} | {each.page} |"


def executions_table() -> Iterator[str]:
    yield "| machine | executions are named | when one failed |\n|---|---|---|"
    for each in sorted(WORKFLOWS, key=lambda each: each.name):
        yield f"| `{each.name}` | {each.execution_name or each.receipt_name} | {each.recovery} |"


def receipt_table() -> Iterator[str]:
    yield "| workflow | in the receipt |\n|---|---|"
    for each in sorted(WORKFLOWS, key=lambda each: each.name):
        yield f"| `{each.name}` | {each.receipt_name} |"


PARTS = {
    "alarms": monitoring.alarms,
    "calls": diagram,
    "collections": collections_table,
    "dashboard": monitoring.dashboard,
    "executions": executions_table,
    "receipt": receipt_table,
    "workflows": workflows_table,
}


def with_parts(text: str) -> str:
    """Return the document with its generated parts updated. Raises `KeyError` for an unknown part."""
    return PART.sub(lambda part: "".join((part[1], *(f"{line}\n" for line in PARTS[part[2]]()), part[3])), text)


if __name__ == "__main__":
    for document in DOCUMENTS:
        document.write_text(with_parts(document.read_text(encoding="utf-8")), encoding="utf-8")
