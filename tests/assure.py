"""Play what SECURITY.md promises against the code that stands here, and print one dated page: `make assure`.

Each chapter is a promise, with the tests that attack it. All of them run on this machine alone, within ten minutes; the
page names the command that runs a chapter again. Exits with 1 if a promise does not hold.
"""

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PYTEST = (sys.executable, "-m", "pytest", "-m", "not nightly", "--numprocesses", "2", "--dist", "loadfile")


@dataclass(frozen=True)
class Chapter:
    promise: str
    tests: tuple[str, ...]
    """Files, or single tests of a file after `::`."""

    @property
    def command(self) -> str:
        return f"python -m pytest {' '.join(self.tests)}"

    def has(self, file: str, test: str) -> bool:
        return any(_is_of(each, file, test) for each in self.tests)


def _is_of(named: str, file: str, test: str) -> bool:
    return named in (file, f"{file}::{test.partition('[')[0]}")


CHAPTERS = (
    Chapter(
        "Nobody reads or changes what is somebody else's, on any route, by its right id.",
        (
            "tests/functions/test_others_ids.py",
            "tests/stores/test_across_users.py",
            "tests/unit/test_mongo_rule.py",
        ),
    ),
    Chapter(
        "A token that is not exactly right opens nothing.",
        (
            "tests/unit/clients/test_user_tokens.py",
            "tests/functions/test_chat_refusals.py",
        ),
    ),
    Chapter(
        "A link in a mail decides its own question once, and whoever scans the mail decides nothing.",
        (
            "tests/functions/test_approve_pages.py",
            "tests/functions/test_approve_browser.py",
            "tests/unit/approvals/test_links.py",
        ),
    ),
    Chapter(
        "A model that obeys a stranger's text has no effect that its user did not ask for, at any level.",
        (
            "tests/attacks/test_attacks.py",
            "tests/functions/test_hostile_model.py",
            "tests/functions/test_unasked.py",
        ),
    ),
    Chapter(
        "Nothing private leaves through a text that others see, a link or a query.",
        (
            "tests/functions/test_hostile_text.py",
            "tests/functions/test_contact_details.py",
            "tests/functions/test_jobs.py::test_a_query_with_private_words_is_not_sent_and_sent_queries_are_recorded",
        ),
    ),
    Chapter(
        "A typed yes decides the card that the page showed last, and none from another tab.",
        (
            "tests/functions/test_typed_answer.py",
            "tests/functions/test_typed_answers_anyhow.py",
        ),
    ),
    Chapter(
        "An account that is erased leaves nothing in any collection, and everything of others.",
        ("tests/functions/test_account.py",),
    ),
    Chapter(
        "A function has the rights that its calls need, and no other.",
        (
            "tests/infra/test_rights.py",
            "tests/infra/test_trust.py",
        ),
    ),
)


def results(report: Path) -> Iterator[tuple[str, str, str]]:
    """Yield each test's file, its name, and whether it `passed`, `failed` or was `skipped`."""
    for case in ElementTree.parse(report).iter("testcase"):
        outcome = next((each.tag for each in case if each.tag in ("failure", "error", "skipped")), "passed")
        file = case.attrib["classname"].replace(".", "/") + ".py"
        yield file, case.attrib["name"], "failed" if outcome in ("failure", "error") else outcome


def page(chapters: Sequence[Chapter], found: Sequence[tuple[str, str, str]], commit: str, seconds: float) -> str:
    lines = [
        f"# What was attacked, and what held, on {datetime.now(UTC):%B %-d, %Y}",
        "",
        f"Commit {commit}, {seconds / 60:.0f} minutes on one machine, against the code itself: its HTTP, its state",
        "machines, its policies and a database. No model and no AWS took part.",
        "",
        "| promise | cases | held | run it again |",
        "|---|---|---|---|",
    ]
    for each in chapters:
        counts = Counter(outcome for file, test, outcome in found if each.has(file, test))
        played = counts["passed"] + counts["failed"]
        lines.append(f"| {each.promise} | {played} | {counts['passed']} | `{each.command}` |")
    failed = [f"- `{file}::{test}`" for file, test, outcome in found if outcome == "failed"]
    return "\n".join([*lines, *(["", "Did not hold:", "", *failed] if failed else [])])


def main(chapters: Sequence[Chapter] = CHAPTERS) -> int:
    begun = time.monotonic()
    named = [test for chapter in chapters for test in chapter.tests]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        ran = subprocess.run(
            [*PYTEST, f"--junitxml={report}", *named], cwd=ROOT, stdout=subprocess.DEVNULL, check=False
        )
        found = list(results(report)) if report.exists() else []
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    print(page(chapters, found, commit.stdout.strip() or "unknown", time.monotonic() - begun))
    unplayed = [each for each in named if not any(_is_of(each, file, test) for file, test, _ in found)]
    for each in unplayed:
        print(f"There is no such test, or it was not played: {each}", file=sys.stderr)
    return 1 if ran.returncode or unplayed else 0


if __name__ == "__main__":
    sys.exit(main())
