"""The measure for reading layouts: what it counts as errors, and its bounds."""

import pytest

from evals import layouts
from evals.layouts import Read, misplaced, people, truth, wrong_fields

PERSON = people()[0]
LINES = [line for block in truth(PERSON, "paragraphs") for line in block]


def text(lines: list[layouts.Line]) -> Read:
    return Read.of("\n".join(" ".join(each) for each in lines))


def test_a_faithful_text_has_no_problems() -> None:
    read = text(LINES)
    assert (wrong_fields(PERSON, read), misplaced([LINES], read)) == ([], [])


def test_a_moved_line_a_lost_period_and_a_cut_word_are_problems() -> None:
    moved = text([LINES[-1], *LINES[:-1]])
    assert misplaced([LINES], moved) == [LINES[-1]]
    apart = text([*((each[0],) for each in LINES), *((part,) for each in LINES for part in each[1:])])
    assert "June 2017 – February 2021" in wrong_fields(PERSON, apart)
    cut = Read.of(text(LINES).text.replace("Northgate", "North gate"))
    assert wrong_fields(PERSON, cut) == ["Northgate Hospital"]


def test_a_column_inside_another_is_in_the_wrong_order() -> None:
    blocks = truth(PERSON, "sidebar")
    mixed = [each for pair in zip(*blocks, strict=False) for each in pair]
    assert len(misplaced(blocks, text(mixed))) > 5
    assert misplaced(blocks, text([*blocks[1], *blocks[0]])) == []


@pytest.mark.thorough
@pytest.mark.nightly
def test_program_generated_files_are_read_within_the_bounds() -> None:
    layouts.main([])  # exits with 1 beyond them
