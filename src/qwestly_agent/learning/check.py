"""Check a lesson against the library: supported sentences cite it, refused ones are left out, and all others are marked
as unchecked general knowledge."""

from functools import partial

from qwestly_agent.base.errors import ModelUnavailable
from qwestly_agent.grounding.ground import ground
from qwestly_agent.grounding.judge import make_judge
from qwestly_agent.learning.lesson_state import LessonState
from qwestly_agent.learning.library_sources import ABOUT_THE_LIBRARY, library_sources
from qwestly_agent.learning.write import WRITER, statement_of
from qwestly_agent.model_calls import structured_output
from qwestly_agent.services import ModelServices
from qwestly_agent.workflow_state import state

SECONDS = 60.0


@state(LessonState)
async def check(services: ModelServices, given: LessonState) -> LessonState:
    """Check the lesson with one judge request. Raises `NotFound`, and `ModelUnavailable` if no sentence is left."""
    lesson = await services.lessons.get(given.user_id, given.lesson_id)
    if lesson.sentences:
        return given
    cites = [each for each in lesson.written if each.quotes]
    modules = await services.topics.list_modules_of(lesson.topic) if cites else []
    judge = make_judge(
        partial(structured_output, services, given.user_id, services.judges[WRITER]),
        seconds=SECONDS,
        also=ABOUT_THE_LIBRARY,
    )
    verdicts = iter(await ground([statement_of(each) for each in cites], library_sources(modules), judge))
    outcomes = [(each, next(verdicts).outcome if each.quotes else "unchecked") for each in lesson.written]
    kept = [
        each if outcome == "supported" else each.model_copy(update={"quotes": ()})
        for each, outcome in outcomes
        if outcome != "refused"
    ]
    if not kept:
        raise ModelUnavailable
    left_out = lesson.left_out + len(lesson.written) - len(kept)
    await services.lessons.save_parts(
        given.user_id, given.lesson_id, sentences=kept, left_out=left_out, label="Writing questions"
    )
    return given
