"""The API keeps what the last release had, unless the changelog says that it breaks."""

import re
from pathlib import Path

from infra.openapi import breaking, surface
from tests.api_document import api_document

ROOT = Path(__file__).parents[2]
RELEASED = (ROOT / "docs/api-surface.txt").read_text(encoding="utf-8").splitlines()


def test_a_breaking_change_stands_in_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased = re.split(r"^## \[", changelog, flags=re.M)[1]
    told = [line for line in unreleased.splitlines() if line.startswith("- **Breaking**: ")]
    broken = breaking(RELEASED, surface(api_document()))
    assert told or not broken, f"A line that begins with “- **Breaking**: ” is due in CHANGELOG.md: {broken}"


def test_additions_break_nobody_and_removals_and_new_requirements_do() -> None:
    before = ["GET /a", "GET /a 200", "gives View.id is required", "gives View.id: string", "takes Body.x: string"]
    more = [*before, "GET /b", "gives View.new: string", "takes Body.y: string", "takes New.z is required"]
    assert breaking(before, more) == []
    assert breaking(before, [*before, "takes Body.x is required"]) == ["takes Body.x is required"]
    assert breaking([*before, "takes Body.x is required"], before) == []
    for line in before:
        assert breaking(before, [each for each in before if each != line]) == [line]
    assert breaking(before, [*before[:3], "gives View.id: integer", before[4]]) == ["gives View.id: string"]
