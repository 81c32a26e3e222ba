"""The API keeps what the last release had, unless the changelog announces a breaking change."""

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from infra.openapi import breaking, surface
from tests.api_document import api_document

ROOT = Path(__file__).parents[2]
RELEASED = (ROOT / "docs/api-surface.txt").read_text(encoding="utf-8").splitlines()


def test_a_breaking_change_is_in_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased = re.split(r"^## \[", changelog, flags=re.M)[1]
    told = [line for line in unreleased.splitlines() if line.startswith("- **Breaking**: ")]
    broken = breaking(RELEASED, surface(api_document()))
    assert told or not broken, f"A line that begins with “- **Breaking**: ” is due in CHANGELOG.md: {broken}"


def test_removals_and_new_requirements_are_breaking_and_additions_are_not() -> None:
    before = ["GET /a", "GET /a 200", "gives View.id is required", "gives View.id: string", "takes Body.x: string"]
    more = [*before, "GET /b", "gives View.new: string", "takes Body.y: string", "takes New.z is required"]
    assert breaking(before, more) == []
    assert breaking(before, [*before, "takes Body.x is required"]) == ["takes Body.x is required"]
    assert breaking([*before, "takes Body.x is required"], before) == []
    for line in before:
        assert breaking(before, [each for each in before if each != line]) == [line]
    assert breaking(before, [*before[:3], "gives View.id: integer", before[4]]) == ["gives View.id: string"]


# --- examples ---------------------------------------------------------------------------------------------------------

EXAMPLE = re.compile(r"(?:<!-- answer: (?P<method>[A-Z]+) (?P<path>\S+) -->\n)?```json\n(?P<text>.*?)\n```", re.S)
EXAMPLES = list(EXAMPLE.finditer((ROOT / "docs/approvals.md").read_text(encoding="utf-8")))


def schema_of(method: str, path: str) -> Any:
    """The schema of the route's answer, which allows no field that it does not name."""
    whole = deepcopy(api_document())
    for each in whole["components"]["schemas"].values():
        if "properties" in each:
            each.setdefault("additionalProperties", False)
    answer = whole["paths"][path][method.lower()]["responses"]["200"]["content"]["application/json"]["schema"]
    return {**answer, "components": whole["components"]}


@pytest.mark.parametrize("example", [pytest.param(each, id=each["path"]) for each in EXAMPLES])
def test_a_response_example_has_exactly_the_routes_fields(example: re.Match[str]) -> None:
    schema = schema_of(example["method"], example["path"])
    answer = json.loads(example["text"])
    assert [f"{each.json_path}: {each.message}" for each in Draft202012Validator(schema).iter_errors(answer)] == []
    named = schema["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"]
    assert list(named.keys() - answer.keys()) == []
