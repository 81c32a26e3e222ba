"""The library of what can be learnt, as an operator brings it in."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from pymongo import AsyncMongoClient

from infra.stages import WrongUsage
from infra.topics import ingest, read_library, run
from qwestly_agent.platform.collection import Document
from qwestly_agent.stores.learning import Topics

ROOT = Path(__file__).parents[2]
PAGE = """---
subject: Leadership
topic: Delegation
module: Hand over the outcome
also: [delegating]
summary: Agree on the result.
order: 1
questions: []
---

{text}
"""
TEXT = "Delegation means that somebody else becomes responsible for a result. " * 4
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(page: str = PAGE.format(text=TEXT), *, name: str = "a", **changes: str) -> Path:
        for field, value in changes.items():
            lines = [line if not line.startswith(f"{field}:") else f"{field}: {value}" for line in page.splitlines()]
            page = "\n".join(lines)
        (tmp_path / f"{name}.md").write_text(page, encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture
async def topics(mongodb_uri: str, database_name: str) -> AsyncIterator[Topics]:
    async with AsyncMongoClient[Document](mongodb_uri, tz_aware=True) as client:
        yield Topics(client[database_name])


def test_our_library_is_complete_with_three_questions_on_each_page() -> None:
    modules = read_library(ROOT / "library")
    assert len(modules) >= 12
    for each in modules:
        assert 600 <= len(each.text.split()) <= 900, each.id
        assert len(each.questions) == 3, each.id
        assert each.source, each.id
    assert len({question.right for each in modules for question in each.questions}) == 3


def test_a_question_not_answered_by_its_page_is_rejected(write: Write) -> None:
    question = '[{asks: "What?", options: [a, b, c], right: 0, because: Nobody wrote this}]'
    with pytest.raises(WrongUsage, match="“Nobody wrote this” does not stand in its text"):
        read_library(write(questions=question))


@pytest.mark.anyio
async def test_a_changed_module_is_stored_and_a_deleted_one_removed(write: Write, topics: Topics) -> None:
    folder = write()
    write(name="b", module="Choose what to delegate", order="2")
    assert await ingest(read_library(folder), topics) == "2 modules added or changed, 0 removed, 0 unchanged."
    write(summary="Agree on the result, and on limits.")
    (folder / "b.md").unlink()
    assert await ingest(read_library(folder), topics) == "1 modules added or changed, 1 removed, 0 unchanged."
    assert await ingest(read_library(folder), topics) == "0 modules added or changed, 0 removed, 1 unchanged."
    [module] = await topics.list_modules()
    assert (module.summary, module.text) == ("Agree on the result, and on limits.", "")
    [module] = await topics.list_modules_of("Delegation")
    assert module.text == TEXT.strip()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"subject": ""}, "b.md: subject: Input should be a valid string."),
        ({"order": "first"}, "b.md: order: Input should be a valid integer"),
        ({"order": "1", "module": "New"}, "b.md: order 1 of Delegation is taken by a.md."),
        ({"subject": "[", "order": "2"}, "b.md: its front matter is no YAML."),
        ({"order": "2"}, "b.md: “Hand over the outcome” is the module Hand over the outcome of Delegation in b.md; "),
        ({"order": "2", "module": "Leadership"}, "b.md: “Leadership” is the module Leadership of Delegation in b.md; "),
        ({"order": "2", "module": "New", "subject": "Teams"}, "b.md: “Delegation” is the topic Delegation of Teams; "),
    ],
)
@pytest.mark.anyio
async def test_an_invalid_file_is_named_and_nothing_is_written(
    write: Write, topics: Topics, changes: dict[str, str], said: str
) -> None:
    folder = write()
    await ingest(read_library(folder), topics)
    write(name="b", **changes)
    with pytest.raises(WrongUsage) as raised:
        read_library(folder)
    assert str(raised.value).startswith(said)
    assert len(await topics.list_modules()) == 1


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("No front matter.", "a.md: it does not begin with front matter"),
        (PAGE.format(text="Short."), "a.md: its text has 6 characters"),
        (PAGE.replace("summary:", "sumary:").format(text=TEXT), "a.md: summary: Field required."),
    ],
)
def test_an_invalid_page_is_rejected_with_the_reason(write: Write, page: str, said: str) -> None:
    with pytest.raises(WrongUsage, match=said):
        read_library(write(page))


def test_a_folder_without_pages_changes_nothing(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="there is no Markdown in it"):
        read_library(tmp_path)


@pytest.mark.anyio
async def test_the_command_ingests_into_the_configured_database(
    mongodb_uri: str, database_name: str, write: Write, topics: Topics
) -> None:
    given = {"MONGODB_URI": mongodb_uri, "MONGODB_DATABASE": database_name, "QWESTLY_AGENT_SHARED_SECRET": "s" * 32}
    assert (await run(read_library(write()), given)).startswith("1 modules added")
    assert len(await topics.list_modules()) == 1
