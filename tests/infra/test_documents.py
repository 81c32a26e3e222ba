"""The documents say what the code says, wherever both can be read."""

import json
import re
from dataclasses import fields
from itertools import takewhile
from pathlib import Path
from typing import get_args

import pytest

from functions.chat.app import create_app
from infra.local.environment import VARIABLES, Template
from qwestly_agent.authority.acts import ACTS, HOUR
from qwestly_agent.authority.gate import TABLE
from qwestly_agent.authority.model import Level, Status, Verb
from qwestly_agent.settings import Settings, is_reference
from qwestly_agent.tools import TOOLS
from qwestly_agent.tools.base import contract_of

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")})
README, CONTRIBUTING = (ROOT / name for name in ("README.md", "CONTRIBUTING.md"))
APPROVALS, ARCHITECTURE, ABOUT_TOOLS = (ROOT / "docs" / f"{name}.md" for name in ("approvals", "architecture", "tools"))

IN_WORDS = re.compile(r"`([a-z_]+)`")


def rows(document: Path, first_column: str) -> list[list[str]]:
    """Of the one table whose head begins so."""
    lines = document.read_text(encoding="utf-8").splitlines()
    [head] = [number for number, line in enumerate(lines) if line.startswith(f"| {first_column} |")]
    table = takewhile(lambda line: line.startswith("|"), lines[head + 2 :])
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def anchors(document: Path) -> set[str]:
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_link_within_the_documents_leads_somewhere(document: Path) -> None:
    text = without_code(document.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_readme_has_the_variables_that_may_be_set_before_the_stack_is_started() -> None:
    named = [name.strip("`") for name, *_ in rows(README, "variable | meaning | local default")]
    assert named == list(VARIABLES)


def test_the_readme_knows_every_setting() -> None:
    text = README.read_text(encoding="utf-8")
    assert not [field.name.upper() for field in fields(Settings) if f"`{field.name.upper()}`" not in text]


def test_the_readme_names_every_route() -> None:
    text = README.read_text(encoding="utf-8")
    routes = [re.sub(r"\{\w+\}", "{id}", path) for path in create_app().openapi()["paths"]]
    assert not [route for route in routes if route not in text]


def test_what_waits_for_whom_is_what_the_gate_says() -> None:
    for effects, *answers in rows(APPROVALS, "a tool's effect"):
        for effect in set(IN_WORDS.findall(effects)) & TABLE.keys():
            assert dict(zip(get_args(Level), answers, strict=True)) == TABLE[effect], effect
    assert {effect for row in rows(APPROVALS, "a tool's effect") for effect in IN_WORDS.findall(row[0])} == set(TABLE)
    told = {effect.strip("`"): answers for effect, _, *answers in rows(ABOUT_TOOLS, "effect | a call")}
    assert told == {effect: list(answers.values()) for effect, answers in TABLE.items()}


def test_each_act_is_told_with_how_long_it_waits_and_who_may_decide_it_how() -> None:
    def told(hours: float) -> str:
        return f"{hours / 24:g} days" if hours > 48 else f"{hours:g} h"

    acts = [
        [
            f"`{act.tool}`",
            f"`{act.effect}`",
            told(act.seconds_to_decide / HOUR),
            ", ".join(f"`{name}`" for name in act.editable),
            "yes" if act.by_link else "no",
        ]
        for act in ACTS.values()
    ]
    assert sorted(rows(APPROVALS, "tool | effect | waits")) == sorted(acts)


def test_every_status_and_every_answer_is_explained() -> None:
    named = [name for row in rows(APPROVALS, "`status`") for name in IN_WORDS.findall(row[0])]
    assert sorted(named) == sorted(get_args(Status))
    assert [name.strip("`") for name, _ in rows(APPROVALS, "`decision`")] == list(get_args(Verb))


def test_each_tool_is_listed_with_its_effect() -> None:
    listed = {
        name: effect.strip("`") for names, effect in rows(ABOUT_TOOLS, "tool") for name in IN_WORDS.findall(names)
    }
    assert listed == {tool.name: contract_of(tool.name, tool.metadata).effect for tool in TOOLS}


def test_each_collection_that_we_write_is_described() -> None:
    privileges = json.loads((ROOT / "infra/mongo/roles.json").read_text(encoding="utf-8"))["privileges"]
    written = {each["resource"]["collection"] for each in privileges if "insert" in each["actions"]}
    described = {
        name for row in rows(ARCHITECTURE, "collection") if row[1] == "ours" for name in IN_WORDS.findall(row[0])
    }
    assert described == written


def test_each_folder_of_tests_has_its_line() -> None:
    folders = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").glob("**/test_*.py")}
    assert {name.strip("`").removeprefix("tests/") for name, _ in rows(CONTRIBUTING, "folder")} == folders


def test_each_state_of_a_corridor_has_its_line() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    states = [path.stem for path in (ROOT / "functions/generate_card").glob("*.py")]
    assert not [state for state in states if f"`{state}`" not in text]


def test_whoever_deploys_is_told_every_secret() -> None:
    template = Template.load()
    kept = {
        value.rpartition("/")[2]
        for function in template.python_functions()
        for value in template.environment(function).values()
        if is_reference(value)
    }
    text = CONTRIBUTING.read_text(encoding="utf-8")
    assert not [name for name in kept if f"`{name}`" not in text]
