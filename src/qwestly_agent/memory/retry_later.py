"""Schedule a conversation again after a failure, or set it aside with the cause after the last attempt."""

from qwestly_agent.base.errors import NotFound
from qwestly_agent.base.observability import Event, measure_set_aside
from qwestly_agent.memory.extraction_state import ExtractionState
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import state

TRY_AGAIN_SECONDS = (600.0, 3_600.0, 6 * 3_600.0, 24 * 3_600.0)
"""Delays after failed attempts; after the last one the conversation is set aside."""
POSTPONED_SECONDS = 3_600.0
"""Delay if the conversation is not the cause, in which case no attempt is counted: an exhausted daily budget, a
rejecting provider or Lambda; after the brake it is due at once."""
_NOT_ITS_FAULT = ("Braked", "OverBudget", "StageOverBudget", "ModelRefused", "Lambda.TooManyRequestsException")


@state(ExtractionState, ignores_brake=True)
async def retry_later(services: Services, given: ExtractionState) -> ExtractionState:
    """Schedule the conversation again, or set it aside. It also runs under the brake."""
    cause, now = given.error.kind if given.error else "", services.clock()
    try:
        reading = await services.watermarks.get(given.user_id, given.conversation_id)
    except NotFound:  # the user deleted it
        return given.model_copy(update={"end": "gone"})
    if cause in _NOT_ITS_FAULT:
        due_at = now if cause == "Braked" else now + POSTPONED_SECONDS
        await services.watermarks.retry_later(given.user_id, given.conversation_id, due_at, reading.attempts)
        # The execution fails for problems that affect all conversations.
        return given.model_copy(update={"end": "refused" if cause == "ModelRefused" else "later"})
    attempts = reading.attempts + 1
    if attempts <= len(TRY_AGAIN_SECONDS):
        due_at = now + TRY_AGAIN_SECONDS[attempts - 1]
        await services.watermarks.retry_later(given.user_id, given.conversation_id, due_at, attempts)
        return given.model_copy(update={"end": "later"})
    aside = {"cause": cause, "at": now, "attempts": attempts}
    await services.watermarks.retry_later(given.user_id, given.conversation_id, 0.0, attempts, aside)
    services.logger.error(Event.SET_ASIDE, extra={"code": cause})
    measure_set_aside()
    return given.model_copy(update={"end": "set_aside"})
