"""Thorough tests that a change needs."""

from fnmatch import fnmatchcase

import pytest

from qwestly_agent.workflow import Workflow
from qwestly_agent.workflows import WORKFLOWS
from tests import touched
from tests.touched import ROOT, TESTS


def is_needed(test: str, *paths: str) -> bool:
    return any(fnmatchcase(test, each) for each in touched.tests_for(paths))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_a_workflow_packages_tests_are_found_without_an_entry(
    workflow: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = f"src/{workflow.package.replace('.', '/')}/"
    monkeypatch.delitem(TESTS, folder, raising=False)
    changed = f"{folder}reader.py"
    assert is_needed(f"tests/statemachines/test_{workflow.name}.py::test_it_ends", changed)
    assert is_needed(f"tests/statemachines/test_conformance.py::test_it_ends[{workflow.name}]", changed)
    assert not is_needed("tests/widget/test_settings.py::test_it_is_shown", changed)


def test_a_changed_test_needs_itself_and_an_unknown_path_needs_all_tests() -> None:
    assert is_needed("tests/unit/test_imports.py::test_x", "tests/unit/test_imports.py")
    assert not is_needed("tests/unit/test_other.py::test_x", "tests/unit/test_imports.py")
    assert is_needed("tests/unit/test_other.py::test_x", "docs/glossary.md", "src/qwestly_agent/stores/learning.py")


def test_a_test_helper_needs_its_importers_and_a_conftest_its_whole_folder() -> None:
    helper = "tests/functions/restoring.py"
    assert is_needed("tests/functions/test_restore.py::test_x", helper)
    assert not is_needed("tests/functions/test_remembering.py::test_x", helper)
    assert is_needed("tests/functions/test_plain_orders.py::test_x", "tests/functions/test_remembering.py")
    assert is_needed("tests/stores/test_docs.py::test_x", "tests/stores/conftest.py")
    assert not is_needed("tests/functions/test_restore.py::test_x", "tests/stores/conftest.py")
    assert is_needed("tests/widget/test_settings.py::test_x", "tests/servers.py")
    assert is_needed("tests/infra/test_first_sentences.py::test_x", "tests/infra/strangers.yaml")
    assert not is_needed("tests/widget/test_settings.py::test_x", "tests/infra/strangers.yaml")


def test_each_entry_names_existing_paths_and_tests() -> None:
    for path, tests in TESTS.items():
        assert (ROOT / path).exists(), path
        for each in tests.split():
            assert [*(ROOT / "tests").glob(f"{each}*")], each
