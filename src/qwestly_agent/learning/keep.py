"""Publish the lesson to its user and schedule its questions, once."""

from qwestly_agent.learning.lesson_state import LessonState
from qwestly_agent.learning.practice import new_practice
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import state

READY = "Your lesson is ready"


@state(LessonState)
async def keep(services: Services, given: LessonState) -> LessonState:
    """Mark the lesson as ready. Raises `NotFound`."""
    now = services.clock()
    lesson = await services.lessons.get(given.user_id, given.lesson_id)
    practices = [new_practice(now) for _ in lesson.questions]
    await services.lessons.move(given.user_id, given.lesson_id, now, "ready", READY, practices=tuple(practices))
    return given
