"""The page of `make assure`: what it counts, and when its command fails."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import assure
from tests.assure import Chapter, main, page


@pytest.fixture(autouse=True)
def _other_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_green.py").write_text("def test_one(): pass\n\n\ndef test_two(): pass\n")
    (tmp_path / "test_red.py").write_text("def test_red(): assert False\n")
    monkeypatch.setattr(assure, "ROOT", tmp_path)
    monkeypatch.setattr(assure, "PYTEST", assure.PYTEST[:3])


def rows(text: str) -> Sequence[str]:
    return [line for line in text.splitlines() if line.startswith("| ")][1:]


def test_the_page_counts_each_promises_tests_and_names_failures() -> None:
    one, two = Chapter("It opens nothing.", ("tests/a.py",)), Chapter("It tells nobody.", ("tests/b.py::test_one",))
    cases = [
        ("tests/a.py", "test_x[1]", "passed"),
        ("tests/a.py", "test_x[2]", "failed"),
        ("tests/a.py", "test_y", "skipped"),
        ("tests/b.py", "test_one[z]", "passed"),
        ("tests/b.py", "test_another", "passed"),
    ]
    written = page((one, two), cases, "abc1234", 125.0)
    assert [row.split(" | ")[:3] for row in rows(written)] == [
        ["| It opens nothing.", "2", "1"],
        ["| It tells nobody.", "1", "1"],
    ]
    assert "Commit abc1234, 2 minutes" in written
    assert written.endswith("Did not hold:\n\n- `tests/a.py::test_x[2]`")


def test_a_kept_promise_exits_with_0(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([Chapter("It opens nothing.", ("test_green.py",))]) == 0
    assert rows(capfd.readouterr().out) == ["| It opens nothing. | 2 | 2 | `python -m pytest test_green.py` |"]


@pytest.mark.parametrize("missing", ["test_green.py::test_that_was_renamed", "test_that_was_moved.py"])
def test_a_missing_test_fails_the_page_and_is_named(missing: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([Chapter("It opens nothing.", ("test_green.py::test_one", missing))]) == 1
    assert missing in capfd.readouterr().err


def test_a_failing_test_fails_the_page(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([Chapter("It opens nothing.", ("test_green.py", "test_red.py"))]) == 1
    assert rows(capfd.readouterr().out)[0].startswith("| It opens nothing. | 3 | 2 |")
