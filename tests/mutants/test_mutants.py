"""How mutants are tried and counted. Writing them needs .venv-mutants, which only the nightly run has."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.mutants import __main__ as mutants
from tests.mutants.__main__ import PACKAGES, SURVIVED, TOO_LONG, WRITER, Tried
from tests.touched import ROOT

MODULE = "src/halved.py"
TEXT = "def halved(number: int) -> float:\n    return number / 2\n"
TEST = "from halved import halved\n\ndef test_a_half():\n    assert halved(4) == 2\n"
COMMANDS = {"unit": ["-x", "-m", "not thorough", "-p", "no:cacheprovider", "tests/test_halved.py"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in ((MODULE, TEXT), ("tests/test_halved.py", TEST)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    thorough: none here\n")
    return tmp_path


def end_of(folder: Path, mutated: str, limit: float = 60.0) -> str | None:
    mutant = {"module": MODULE, "mutated": TEXT.replace("number / 2", mutated), "diff": mutated}
    with mutants.mutated(folder, mutant):
        tried = mutants.end_of(folder, "approvals", mutant, COMMANDS, {"unit": limit})
    assert (folder / MODULE).read_text() == TEXT
    return tried and tried.end


@pytest.mark.thorough
@pytest.mark.parametrize(("mutated", "end"), [("number - 2", SURVIVED), ("number * 2", "unit"), ("number / 1", "unit")])
def test_a_mutant_survives_only_if_all_tests_pass(folder: Path, mutated: str, end: str) -> None:
    assert end_of(folder, mutated) == end


def test_a_mutant_that_cannot_be_imported_does_not_count(folder: Path) -> None:
    assert end_of(folder, "number / 2\n\nimport not_there") is None


@pytest.mark.thorough
@pytest.mark.nightly
def test_a_mutant_that_never_ends_counts_as_killed(folder: Path) -> None:
    assert end_of(folder, "number / 2 if print() else halved.__class__ and [1 for _ in iter(int, 1)]", 3.0) == TOO_LONG


def test_each_package_has_its_own_modules_and_tests() -> None:
    for package in PACKAGES.values():
        assert [*(ROOT / mutants.SOURCE).glob(package.modules[0])]
        commands = mutants.commands_of(package)
        assert commands["everyday"][-1].startswith("tests/")
        assert set(commands["thorough"]) >= set(commands.get("unit", [])[5:])


def test_a_share_is_shown_with_the_previous_nights() -> None:
    tried = [Tried("approvals", "", end) for end in (SURVIVED, "unit", "unit", TOO_LONG)]
    found = {"approvals": mutants.count_survivors(tried, "approvals")}
    last: Mapping[str, Any] = {"date": "2026-11-26", "packages": {"approvals": {"survived": 1, "of": 2}}}
    _, line = mutants.lines_of(found, last)
    assert "1 of 4, 25 % (5–70)" in line
    assert "1 of 2, 50 % (9–91)" in line


@pytest.mark.parametrize(("survived", "is_above"), [(15, False), (20, False), (30, True)])
def test_a_share_exceeds_its_bound_only_with_its_whole_interval(survived: int, is_above: bool) -> None:
    assert mutants.is_above(PACKAGES["approvals"], {"survived": survived, "of": 60}) is is_above


@pytest.mark.thorough
@pytest.mark.nightly
@pytest.mark.skipif(not WRITER[0].exists(), reason="make .venv-mutants/ready")
def test_a_seed_draws_the_same_mutants_again() -> None:
    def drawn() -> list[str]:
        with mutants.drawn(PACKAGES["account"], "7") as found:
            return [json.dumps(next(found)) for _ in range(5)]

    assert drawn() == drawn()
    assert len(set(drawn())) == 5
