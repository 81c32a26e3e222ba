"""Reject a commit that adds too much to `src` at once, so that `git blame` explains a line.

python infra/large_commits.py

reads the newest commits since this file was added. A line that the same commit removes elsewhere in `src` counts as
moved.
"""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_LINES = 1_500
COMMITS = 30
_PATCHES = (
    *("log", f"--max-count={COMMITS}", "--patch", "--unified=0", "--no-renames", "--no-color", "--no-ext-diff"),
    # A header begins with `+++` or `---`, but so may a line.
    *("--output-indicator-new=>", "--output-indicator-old=<", "--format=commit %h %s"),
)


def large_commits(folder: Path, most: int = MOST_LINES) -> list[str]:
    """Return a sentence about each commit that adds more lines. Empty without a history, and for the oldest known
    commit and older: in a shallow clone, that commit shows every file as added."""
    if shutil.which("git") is None:
        return []
    came = _git(folder, "log", "--diff-filter=A", "--format=%H", "--", "infra/large_commits.py", check=False).split()
    found = list[str]()
    for commit in _git(folder, *_PATCHES, f"{came[-1]}..HEAD", "--", "src").split("\ncommit ") if came else ():
        subject, *lines = commit.removeprefix("commit ").split("\n")
        added, removed = (
            Counter(each[1:].strip() for each in lines if each.startswith(indicator)) for indicator in "><"
        )
        count = (added - removed).total()
        if count > most:
            found.append(f"{subject}: adds {count:,} lines to src besides moves, of at most {most:,}. Split it.")
    return found


def _git(folder: Path, *arguments: str, check: bool = True) -> str:
    command = [shutil.which("git") or "git", *arguments]
    done = subprocess.run(command, cwd=folder, check=check, capture_output=True, encoding="utf-8", errors="replace")  # noqa: S603
    return done.stdout


if __name__ == "__main__":
    sys.exit("\n".join(large_commits(ROOT)) or None)
