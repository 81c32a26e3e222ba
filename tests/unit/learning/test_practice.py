"""Due times of questions, and a simulated year of learners."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from random import Random
from zoneinfo import ZoneInfo

import pytest

from qwestly_agent.domain.learning import MOST_A_DAY, Lesson, LessonQuestion, Practice, Rating, due_questions
from qwestly_agent.learning.progress import new_practice, reschedule
from tests.counts import count

START, DAY = 1_800_000_000.0, 86_400.0
ZONE = "Europe/Berlin"


def days_away(practice: Practice, now: float) -> int:
    """The interval in local days, from the day of the answer to the day on which it is due."""
    dates = [datetime.fromtimestamp(at, ZoneInfo(ZONE)).date() for at in (now, practice.due_at)]
    return (dates[1] - dates[0]).days


@pytest.mark.parametrize("rating", ["hard", "good", "easy"])
def test_an_early_right_answer_counts_without_changing_the_due_date(rating: Rating) -> None:
    once = reschedule(new_practice(START), rating, START)
    again = once
    for number in range(1, 6):
        again = reschedule(again, rating, START + number)
    assert (again.due_at, again.stability) == (once.due_at, once.stability)
    assert (again.answers, again.right) == (6, 6)


def test_an_early_wrong_answer_makes_the_question_due_sooner() -> None:
    known = reschedule(new_practice(START), "easy", START)
    forgotten = reschedule(known, "again", START + 60)
    assert forgotten.due_at < known.due_at


def test_a_right_answer_when_due_postpones_the_question() -> None:
    known = reschedule(new_practice(START), "easy", START)
    later = reschedule(known, "good", known.due_at)
    assert later.due_at - known.due_at > known.due_at - START


@pytest.mark.parametrize("hour", [0, 7, 18, 23])
def test_a_wrong_answer_is_due_the_next_morning(hour: int) -> None:
    answered = datetime(2026, 11, 27, hour, 30, tzinfo=ZoneInfo(ZONE)).timestamp()
    wrong = reschedule(new_practice(answered), "again", answered, ZONE)
    assert datetime.fromtimestamp(wrong.due_at, ZoneInfo(ZONE)) == datetime(2026, 11, 28, tzinfo=ZoneInfo(ZONE))
    next_morning = reschedule(wrong, "good", wrong.due_at + 7 * 3_600, ZONE)
    assert next_morning.due_at > wrong.due_at


@dataclass
class Learner:
    comes: Callable[[Random], bool]
    """True if they answer on a day."""
    is_eager: bool
    """True if they also answer questions that are not due."""
    knows: float


LEARNERS = {
    "lazy": Learner(lambda chance: chance.random() < 0.2, False, 0.85),
    "eager": Learner(lambda _: True, True, 0.95),
    "forgetful": Learner(lambda chance: chance.random() < 0.8, True, 0.5),
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("seed", range(count(10, 300)))
def test_over_a_year_right_answers_never_shorten_and_early_ones_never_lengthen(name: str, seed: int) -> None:
    learner, chance = LEARNERS[name], Random(seed)
    practice, now, interval = new_practice(START), START, 0
    for day in range(365):
        if not learner.comes(chance):
            continue
        for _ in range(chance.randint(1, 3) if learner.is_eager else 1):
            now = max(now, START + day * DAY + chance.uniform(0, DAY - 1))
            is_due = now >= practice.due_at
            if not (is_due or learner.is_eager):
                break
            rating: Rating = chance.choice(("hard", "good", "easy")) if chance.random() < learner.knows else "again"
            before, practice = practice, reschedule(practice, rating, now, ZONE)
            after = days_away(practice, now) if is_due or rating == "again" else interval
            assert practice.due_at > now
            if is_due and rating != "again":
                assert after >= interval
            if not is_due:
                assert practice.due_at <= before.due_at
                assert (practice.stability or 0) <= (before.stability or 0)
            interval = after


def lesson_with(questions: int, practice: Practice) -> Lesson:
    asked = tuple(LessonQuestion(text="?", options=("a", "b"), right=0, sentence=0) for _ in range(questions))
    return Lesson(
        id="les_1", user_id="u", run_id="r", conversation_id=None, topic="t", title="t", status="ready",
        questions=asked, practices=(practice,) * questions, created_at=START, updated_at=START,
    )  # fmt: skip


def test_at_most_ten_questions_a_day_are_due_including_todays_repetitions() -> None:
    once = reschedule(new_practice(START), "again", START)
    morning = once.due_at + 8 * 3_600
    lesson = lesson_with(25, once)
    due = due_questions([lesson], morning, "UTC")
    assert len(due) == MOST_A_DAY
    answered = [reschedule(each, "good", morning) if n < 4 else each for n, each in enumerate(lesson.practices)]
    left = due_questions([lesson.model_copy(update={"practices": tuple(answered)})], morning + 60, "UTC")
    assert [number for _, number in left] == [4, 5, 6, 7, 8, 9]


def test_an_unanswered_question_belongs_to_its_lesson_and_is_not_due() -> None:
    assert due_questions([lesson_with(3, new_practice(START))], START + DAY, "UTC") == []


def test_a_lesson_is_learned_only_by_right_answers() -> None:
    fresh, wrong = new_practice(START), reschedule(new_practice(START), "again", START)
    known = reschedule(wrong, "good", wrong.due_at)
    lesson = lesson_with(2, fresh)
    stages = [
        lesson.model_copy(update={"practices": each}).stage for each in ((fresh, known), (wrong, known), (known, known))
    ]
    assert stages == ["reading", "answered", "learned"]
