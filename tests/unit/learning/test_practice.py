"""When a question is due again."""

import pytest

from qwestly_agent.domain.learning import Rating
from qwestly_agent.learning.progress import new_practice, reschedule

START, DAY = 1_800_000_000.0, 86_400.0


@pytest.mark.parametrize("rating", ["hard", "good", "easy"])
def test_a_right_answer_ahead_of_time_moves_nothing_and_counts(rating: Rating) -> None:
    once = reschedule(new_practice(START), rating, START)
    again = once
    for number in range(1, 6):
        again = reschedule(again, rating, START + number)
    assert (again.due_at, again.stability) == (once.due_at, once.stability)
    assert (again.answers, again.right) == (6, 6)


def test_a_wrong_answer_ahead_of_time_brings_it_back_sooner() -> None:
    known = reschedule(new_practice(START), "easy", START)
    forgotten = reschedule(known, "again", START + 60)
    assert forgotten.due_at < known.due_at


def test_a_right_answer_when_it_is_due_moves_it_away() -> None:
    known = reschedule(new_practice(START), "easy", START)
    later = reschedule(known, "good", known.due_at)
    assert later.due_at - known.due_at > known.due_at - START
