"""Lines of a résumé below another position's dates, in files of known contents."""

from collections.abc import Sequence
from typing import Any

import pytest

from evals.layouts import FOLDER, people
from qwestly_agent.domain.resume import Found, FoundResume, FoundWork, found_fields
from qwestly_agent.grounding.quotes import find_span
from qwestly_agent.resumes.file_text import text_of_file
from qwestly_agent.resumes.reader import misplaced_lines
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.contacts import without_contacts


def flagged(jobs: Sequence[dict[str, Any]], lines: Sequence[Sequence[str]], text: str) -> tuple[int, int]:
    """Return the number of lines flagged as misplaced, and of all lines."""

    def found(words: str) -> Found | None:
        return Found(value=words, quote=words) if find_span(words, text) else None

    work = tuple(
        FoundWork(
            name=found(job["company"]),
            position=found(job["title"]),
            startDate=found(job["period"]),
            endDate=found(job["period"]),
            highlights=tuple(each for line in of_job if (each := found(line))),
        )
        for job, of_job in zip(jobs, lines, strict=True)
    )
    fields = dict(found_fields(FoundResume(work=work)))
    return len(misplaced_lines(fields, text)), sum("/highlights/" in path for path in fields)


@pytest.mark.nightly
@pytest.mark.thorough
def test_misplaced_lines_are_detected_by_dates_in_every_layout() -> None:
    by_key = {each["id"]: each for each in people()}
    right, moved, lines = 0, 0, 0
    for file in sorted(each for each in FOLDER.iterdir() if each.suffix in (".pdf", ".docx")):
        if person := by_key.get(file.name.partition("-")[0]):
            text, _ = without_contacts(quoted(text_of_file(file.read_bytes())))
            jobs = person["jobs"]
            there = [each["lines"] for each in jobs]
            wrong, count = flagged(jobs, there, text)
            right, lines = right + count - wrong, lines + count
            moved += flagged(jobs, [*there[1:], there[0]], text)[0]
    assert lines > 300
    assert right / lines >= 0.99
    assert moved / lines >= 0.99
