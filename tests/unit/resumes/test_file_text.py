"""A file's text is extracted as written; a malicious file ends in one clear sentence."""

from html import escape

import pytest

from infra.local.model_resumes import parse_resume
from qwestly_agent.grounding.quotes import find_span
from qwestly_agent.resumes import opener as open_file_module
from qwestly_agent.resumes.file_text import CPU_SECONDS
from qwestly_agent.resumes.opener import open_file
from qwestly_agent.resumes.unreadable import SENTENCES, UnreadableFile
from tests.resume_files import (
    HOSTILE,
    LAYOUTS,
    LEFT,
    MAYA,
    ORDERS,
    TOP,
    Page,
    Person,
    pdf,
    used_by_opener,
    with_hidden_orders,
    with_scripts,
)

pytestmark = pytest.mark.anyio
MOST_MEMORY_BYTES, MOST_SECONDS = 512 * 1024 * 1024, 20


@pytest.mark.thorough
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_resumes_text_is_extracted_verbatim(layout: str) -> None:
    person, content = LAYOUTS[layout]
    text = await open_file(content)
    assert [said for said in person.said if not find_span(said, text)] == []
    assert parse_resume([f"<resume>\n{escape(text)}\n</resume>"])["basics"]  # by the laptop's scripted model


@pytest.mark.thorough
@pytest.mark.parametrize("case", HOSTILE)
async def test_a_file_without_readable_text_says_why(case: str) -> None:
    make, why = HOSTILE[case]
    with pytest.raises(UnreadableFile) as raised:
        await open_file(make())
    assert raised.value.why == why
    assert SENTENCES[raised.value.why].endswith(".")


@pytest.mark.nightly
@pytest.mark.thorough
@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_stays_within_its_memory_and_cpu_limits(case: str) -> None:
    """Measured by the kernel for its process alone."""
    make, _ = HOSTILE[case]
    used, seconds = used_by_opener(make())
    assert used <= MOST_MEMORY_BYTES
    assert seconds <= CPU_SECONDS + 1


async def test_a_slow_file_times_out_within_twenty_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_file_module.SECONDS < MOST_SECONDS
    monkeypatch.setattr(open_file_module, "SECONDS", 0.0)
    with pytest.raises(UnreadableFile) as raised:
        await open_file(with_scripts())
    assert raised.value.why == "heavy"


async def test_a_visible_soft_hyphen_is_read_as_a_hyphen() -> None:
    page = Page()
    page.text(LEFT, TOP, "Sep. 2023 - Mar. 2024: high-impact on-call", ligatures=True)
    page.text(LEFT, TOP - 12, "multi-ac", ligatures=True)
    assert await open_file(pdf([page])) == "Sep. 2023 - Mar. 2024: high-impact on-call\nmulti-ac"


async def test_scripts_in_a_file_are_ignored_and_its_text_is_read() -> None:
    text = await open_file(with_scripts())
    assert MAYA.summary in text
    assert "app.alert" not in text


async def test_invisible_text_in_a_file_is_read_as_text() -> None:
    """It is quoted to the user before it is used."""
    assert ORDERS in await open_file(with_hidden_orders())


def lines_of(person: Person) -> list[str]:
    return [line for job in person.jobs for line in job.lines]


async def test_a_pages_columns_are_not_mixed() -> None:
    person, content = LAYOUTS["two columns"]
    text = " ".join((await open_file(content)).split())
    positions = [text.index(line) for line in lines_of(person)]
    assert positions == sorted(positions)
    assert " ".join(person.skills) in text
