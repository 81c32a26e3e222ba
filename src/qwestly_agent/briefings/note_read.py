"""Record what a briefing covered, so that the next one continues from there."""

from qwestly_agent.briefings.briefing_state import BriefingState
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import state


@state(BriefingState)
async def note_read(services: Services, given: BriefingState) -> BriefingState:
    briefing = await services.briefings.get(given.user_id, given.briefing_id)
    await services.briefing_plans.advance_marks(given.user_id, briefing.gathered.marks)
    return given
