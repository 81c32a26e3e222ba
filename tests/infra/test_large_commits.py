"""`make check` rejects a commit that adds too much to `src` at once."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from infra.large_commits import MOST_LINES, large_commits

WHO = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *WHO, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, subject: str, files: Mapping[str, Sequence[str]]) -> None:
    for name, lines in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--message", subject)


def numbered(count: int, text: str = "x") -> list[str]:
    return [f"{text} = {number}" for number in range(count)]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    commit(folder, "Begin", {"src/old.py": numbered(4_000, "old")})
    commit(folder, "Check commits", {"infra/large_commits.py": ["pass"]})
    return folder


def test_a_commit_that_adds_too_many_lines_is_reported(repository: Path) -> None:
    commit(repository, "Add as much as may be", {"src/a.py": numbered(MOST_LINES)})
    assert large_commits(repository) == []
    commit(repository, "Add everything", {"src/b.py": [*numbered(MOST_LINES, "y"), "++ one more"]})
    commit(repository, "Go on", {"src/c.py": ["z = 1"]})
    [said] = large_commits(repository)
    assert " Add everything: adds 1,501 lines to src besides moves, of at most 1,500." in said


def test_moved_and_joined_lines_are_not_counted_even_if_reindented(repository: Path) -> None:
    moved = [f"    {line}" for line in numbered(4_000, "old")]
    (repository / "src/old.py").unlink()
    commit(repository, "Move", {"src/one.py": moved[:1_500], "src/two.py": moved[1_500:]})
    commit(repository, "Copy", {"tests/new.py": numbered(3_000)})
    assert large_commits(repository) == []
    commit(repository, "Copy twice", {"src/three.py": moved})
    assert len(large_commits(repository)) == 1


def test_commits_before_the_check_and_shallow_clones_are_not_checked(repository: Path, tmp_path: Path) -> None:
    assert large_commits(repository) == []
    commit(repository, "Add everything", {"src/b.py": numbered(2_000)})
    assert len(large_commits(repository)) == 1
    git(tmp_path, "clone", "--quiet", "--depth", "1", repository.as_uri(), "shallow")
    assert large_commits(tmp_path / "shallow") == []
    (tmp_path / "exported").mkdir()
    assert large_commits(tmp_path / "exported") == []
