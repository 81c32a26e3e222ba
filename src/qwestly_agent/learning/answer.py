"""Record an answer to a lesson's question, once, and reschedule the question."""

from qwestly_agent.base.errors import Invalid, NotFound, Unavailable
from qwestly_agent.domain.learning import Lesson, Rating
from qwestly_agent.learning.practice import reschedule
from qwestly_agent.services import Services

TRIES = 5


async def answer(
    services: Services, user_id: str, lesson_id: str, number: int, option: int, answers: int, felt: Rating
) -> Lesson:
    """Return the lesson after the answer. `answers` is the number of answers that the client has seen, so that a
    repeated request changes nothing. A wrong answer is always rated `again`.

    Raises `NotFound`, `Invalid` and `Unavailable`.
    """
    for _ in range(TRIES):
        lesson = await services.lessons.get(user_id, lesson_id)
        if not 0 <= number < len(lesson.practices):
            raise NotFound("There is no such question.")
        question, practice = lesson.questions[number], lesson.practices[number]
        if not 0 <= option < len(question.options):
            raise Invalid(f"option: There are {len(question.options)} options.")
        if practice.answers != answers:
            return lesson
        now = services.clock()
        after = reschedule(practice, felt if option == question.right else "again", now)
        practices = [after if place == number else each for place, each in enumerate(lesson.practices)]
        if await services.lessons.save_practices(lesson, practices, now):
            return lesson.model_copy(update={"practices": tuple(practices)})
    raise Unavailable
