"""Thorough tests that a change needs, for `make test-since`: each `sentinel`, and those of the code that the change
touches."""

import ast
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from qwestly_agent.workflows import WORKFLOWS

ROOT = Path(__file__).parents[1]

# Prefixes of changed paths, and the tests that each needs. The longest one counts. Without one, a package with a
# workflow needs the tests that name it, and any other path needs all; but a test file needs those that import it.
TESTS: dict[str, str] = {
    "src/qwestly_agent/account.py": (
        "functions/test_account functions/test_conversation functions/test_chat_turn functions/test_activity "
        "functions/test_briefings functions/test_forget functions/test_extracting functions/test_lessons "
        "functions/test_memor functions/test_resumes functions/test_settings statemachines/test_conformance "
        "statemachines/test_starting stores/test_user_data"
    ),
    "src/qwestly_agent/approvals/": (
        "unit/approvals unit/test_earned simulation attacks functions/test_act functions/test_application "
        "functions/test_appro functions/test_asked_for functions/test_autonomy functions/test_brake "
        "functions/test_closed_work "
        "functions/test_contact_details functions/test_earned functions/test_execute functions/test_forget_card "
        "functions/test_hostile_model functions/test_limits functions/test_mails functions/test_plain_orders "
        "functions/test_restore functions/test_returned_mail functions/test_typed functions/test_unasked "
        "functions/test_undo infra/test_example functions/test_replaced_chat"
    ),
    "src/qwestly_agent/briefings/": (
        "unit/domain/test_briefing functions/test_brief statemachines/test_brief functions/test_home"
    ),
    "src/qwestly_agent/cards/": (
        "unit/cards functions/test_drafts functions/test_failed_drafts functions/test_generate_card "
        "statemachines/test_generate_card statemachines/test_redraft statemachines/test_tailored "
        "functions/test_closed_work functions/test_remembering statemachines/test_starting"
    ),
    "src/qwestly_agent/chat/": (
        "unit/chat simulation attacks functions/test_chat functions/test_conversation functions/test_end_of "
        "functions/test_faults functions/test_limits functions/test_lost_connections functions/test_load_thread "
        "functions/test_prompt_prefix functions/test_replacing functions/test_resume_stream "
        "functions/test_round_trips functions/test_slow_reader functions/test_sources functions/test_two_urls "
        "functions/test_typed_answer functions/test_updates statemachines/test_starting e2e/test_a "
        "functions/test_appro functions/test_home functions/test_people_in functions/test_reads_once "
        "functions/test_settings functions/test_titles functions/test_unedited"
    ),
    "src/qwestly_agent/documents/": (
        "functions/test_job_documents functions/test_application statemachines/test_tailored"
    ),
    "src/qwestly_agent/grounding/": "unit/grounding unit/cards evals/test_claims",
    "src/qwestly_agent/interviews/": (
        "unit/interviews functions/test_interview functions/test_onboarding statemachines/test_interviewees "
        "statemachines/test_summarize statemachines/test_write_draft e2e/test_onboarding evals/test_whole_talks"
    ),
    "src/qwestly_agent/jobs/": (
        "unit/jobs attacks functions/test_job functions/test_application functions/test_gaps "
        "statemachines/test_scout e2e/test_job"
    ),
    "src/qwestly_agent/learning/": (
        "unit/learning functions/test_le statemachines/test_write_lesson evals/test_edge functions/test_gaps"
    ),
    "src/qwestly_agent/memory/": (
        "unit/memory simulation attacks functions/test_memor functions/test_forget functions/test_remember "
        "functions/test_extract functions/test_consolidate functions/test_hostile_memory functions/test_erasure_log "
        "functions/test_restore statemachines/test_extract statemachines/test_consolidate evals/test_memories "
        "functions/test_plain_orders functions/test_not_remembered"
    ),
    "src/qwestly_agent/resumes/": (
        "unit/resumes functions/test_resumes functions/test_hostile_resumes statemachines/test_parse_resume "
        "statemachines/test_resume_in functions/test_closed_work"
    ),
    "src/qwestly_agent/rollout/": "unit/rollout functions/test_rollout",
    "benchmarks/": "",
    "clients/": "e2e/test_typescript e2e/test_nextjs e2e/test_integrate",
    "docs/": "",
    "evals/": "evals",
    "examples/": ("e2e/test_nextjs e2e/test_typescript infra/test_candidate_api functions/test_designs"),
    "infra/local/": (
        "infra/test_local infra/test_ports infra/test_aws infra/test_model_server infra/test_intents e2e "
        "functions/test_learning"
    ),
    "infra/restore.py": "functions/test_restore infra/test_command",
    "infra/": "infra",
    "library/": "infra/test_topics",
    "statemachines/": "statemachines infra/test_example",
    "template.yaml": "infra statemachines/test_definitions",
    "widget/": "widget e2e/test_page",
    ".ci/": "infra/test_bootstrap infra/test_documents infra/test_workflows",
    ".github/": "infra",
    "samconfig.toml": "infra functions/test_one_region",
    "Makefile": "infra",
    "CHANGELOG.md": "",
    "CONTRIBUTING.md": "",
    "README.md": "",
    "SECURITY.md": "",
    "LICENSE": "",
    ".gitignore": "",
}


def tests_for(paths: Iterable[str]) -> tuple[str, ...]:
    """Return patterns of test ids."""
    found: set[str] = set()
    for path in paths:
        patterns = _tests_of(path)
        if not patterns and not any(path.startswith(each) for each in TESTS):
            return ("*",)
        found |= patterns
    return tuple(found)


def _tests_of(path: str) -> set[str]:
    """Return patterns of the tests that a changed path needs. If there are none, a path with an entry needs no tests,
    and one without needs all."""
    if path.startswith("tests/"):
        return _importing(path)
    known = max((each for each in TESTS if path.startswith(each)), key=len, default=None)
    if known is not None:
        return {f"tests/{each}*" for each in TESTS[known].split()}
    return _naming_a_package_of(path)


@cache
def _imports() -> Mapping[str, frozenset[str]]:
    """Return the modules that each test file imports, by its path."""
    return {str(each.relative_to(ROOT)): frozenset(_imported_by(each)) for each in (ROOT / "tests").rglob("*.py")}


def _imported_by(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names):
                yield from (each.name for each in names)
            case ast.ImportFrom(str(module), names):
                yield module
                yield from (f"{module}.{each.name}" for each in names)
            case _:
                pass


def _importing(path: str) -> set[str]:
    """Return patterns of the tests that import a file of the tests, directly or indirectly. A `conftest.py` is imported
    by all tests in its folder. A file that is no module, or is a program, also counts as part of its folder's tests."""
    todo, seen, found = [path], set[str](), set[str]()
    while todo:
        if (each := todo.pop()) in seen:
            continue
        seen.add(each)
        name, module = Path(each).name, each.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        importing = [other for other, imported in _imports().items() if module in imported]
        if name.startswith("test_"):
            found.add(f"{each}*")
        elif name == "conftest.py" or not importing:
            found.add(f"{Path(each).parent}/*")
        todo += importing
    return found


def _naming_a_package_of(path: str) -> set[str]:
    """Return patterns of tests with the name of the path's package in their path or of one of its workflows in their
    id, and of those that import it. Empty if it has no workflow."""
    package = ".".join(Path(path).parts[1:3])
    names = {each.name for each in WORKFLOWS if each.package == package}
    if not names:
        return set()
    importing = (each for each in (ROOT / "tests").rglob("test_*.py") if package in each.read_text(encoding="utf-8"))
    return {
        f"*{package.rpartition('.')[2]}*::*",
        *(f"*{each}*" for each in names),
        *(f"{each.relative_to(ROOT)}*" for each in importing),
    }


def changed_since(commit: str) -> list[str]:
    command = ["git", "diff", "--name-only", commit]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()


def select(config: pytest.Config, items: list[pytest.Item], since: str) -> None:
    """Keep the sentinels and the thorough tests of what changed since a commit; without one, of everything."""
    patterns = tests_for(changed_since(since)) if since else ("*",)

    def is_needed(item: pytest.Item) -> bool:
        marks = {mark.name for mark in item.iter_markers()}
        return "sentinel" in marks or (
            "thorough" in marks and "nightly" not in marks and any(fnmatchcase(item.nodeid, each) for each in patterns)
        )

    config.hook.pytest_deselected(items=[item for item in items if not is_needed(item)])
    items[:] = filter(is_needed, items)
