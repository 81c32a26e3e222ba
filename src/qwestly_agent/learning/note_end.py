"""Record for the user why the writing of a lesson failed or was stopped."""

from contextlib import suppress

from qwestly_agent.base.errors import NotFound
from qwestly_agent.learning.lesson_state import LessonState
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import OVER_BUDGET, messages_by_error, state

TRY_AGAIN = "It could not be written. Please ask for it again."
_SAID = {
    **messages_by_error("Please ask for it again later."),
    "ContentRefused": "Our AI couldn’t work with this topic.",
}
"""By the type of error."""


@state(LessonState, ignores_brake=True)
async def note_end(services: Services, given: LessonState) -> LessonState:
    """Record the end of the writing. Runs under the brake too, since nothing else would record that it stopped."""
    error = given.error.kind if given.error else ""
    end = "stopped" if error in ("Braked", "NotFound") else "failed"
    with suppress(NotFound):  # the user deleted it meanwhile
        label = _SAID.get(error, TRY_AGAIN)
        await services.lessons.end_writing(given.user_id, given.lesson_id, services.clock(), end, label, [])
    return given.model_copy(update={"end": "over_budget" if error in OVER_BUDGET else end})
