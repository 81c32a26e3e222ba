"""Advance the watermark of a conversation, and schedule it again if notes wait for a judge.

It comes last, so that after an earlier crash the messages are read again.
"""

from qwestly_agent.memory.extraction_state import ExtractionState, batch_of
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import state

CHECK_AGAIN_SECONDS, LONGEST_CHECK_SECONDS = 3_600.0, 86_400.0
"""Delay after a judge was unavailable: doubled each time, up to a day."""


@state(ExtractionState, ignores_brake=True)
async def move_watermark(services: Services, given: ExtractionState) -> ExtractionState:
    """It also runs under the brake, as the messages were read."""
    if batch := await batch_of(services.extractions, given):
        now = services.clock()
        await services.watermarks.advance(given.user_id, given.conversation_id, batch.read_from, batch.read_to, now)
        if batch.tries:
            wait = min(CHECK_AGAIN_SECONDS * 2 ** (batch.tries - 1), LONGEST_CHECK_SECONDS)
            await services.watermarks.schedule_at(given.user_id, given.conversation_id, now + wait)
    return given
