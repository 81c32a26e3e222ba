"""The worked example of docs/workflows.md, added to a copy of the project as its page says."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from infra.local.environment import ROOT
from qwestly_agent.base.settings import bare_environment

PATCH, PAGE = ROOT / "examples/review_offer.patch", ROOT / "docs/workflows.md"
MOST_FILES, MOST_LINES = 14, 1_000
"""Limits by hand; `make docs` and `make calls` write the rest."""
PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")
CHECKS = {
    "its own tests": [*PYTEST, "tests/statemachines/test_review_offer.py"],
    "those of each workflow": [
        *(*PYTEST, "-k", "review_offer"),
        *("tests/statemachines/test_conformance.py", "tests/functions/test_brake_receipts.py"),
    ],
    "those of actions": [*PYTEST, "tests/unit/approvals"],
    "those of rights and cost": [*PYTEST, "tests/infra/test_grants.py", "tests/infra/test_capacity.py"],
    "those of the template and the documents": [
        *(*PYTEST, "-k", "not README", "tests/statemachines/test_definitions.py"),  # some name what is built
        *(f"tests/infra/test_{name}.py" for name in ("alarms", "diagram", "documents", "template", "trust")),
    ],
    "its layer": [str(Path(sys.executable).with_name("lint-imports")), "--no-logo"],
    "its style": [sys.executable, "-m", "ruff", "check", "--no-cache", "."],
}


def test_the_example_patch_applies_with_the_files_and_lines_of_its_page() -> None:
    run(["git", "apply", "--check", "-C1", str(PATCH)], ROOT)
    changes = [line.split("\t") for line in run(["git", "apply", "--numstat", str(PATCH)], ROOT).splitlines()]
    lines = sum(int(added) + int(removed) for added, removed, _ in changes)
    assert len(changes) <= MOST_FILES
    assert lines <= MOST_LINES
    assert f"in {len(changes)} files and {lines} lines" in " ".join(PAGE.read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with the example in it."""
    copy = tmp_path_factory.mktemp("project")
    for name in run(["git", "ls-files"], ROOT).splitlines():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    run(["git", "apply", "-C1", str(PATCH)], copy)
    run([sys.executable, "-m", "infra.documents"], copy)
    run(
        [*PYTEST, "-k", "table_of_rights", "tests/infra/test_grants.py"], copy, RECORD_CALLS="1"
    )  # as `make calls` does
    return copy


@pytest.mark.thorough
@pytest.mark.nightly
@pytest.mark.parametrize("check", CHECKS)
def test_the_project_passes_with_the_example_patch(project: Path, check: str) -> None:
    run(CHECKS[check], project)


def run(command: Sequence[str], folder: Path, **variables: str) -> str:
    """Run the command with these variables, and without those of this process."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment = {**bare_environment(), **kept, **variables, "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder}"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
