"""Record what a briefing covered, so that the next one begins after it."""

from typing import Protocol

from qwestly_agent.briefings.briefing_state import BriefingState
from qwestly_agent.services import HasBriefingPlans, HasBriefings, HasClock, HasLogger, HasRuns, HasSignals
from qwestly_agent.workflow_state import state


class NoteServices(HasBriefingPlans, HasBriefings, HasClock, HasLogger, HasRuns, HasSignals, Protocol): ...


@state(BriefingState)
async def note_read(services: NoteServices, given: BriefingState) -> BriefingState:
    briefing = await services.briefings.get(given.user_id, given.briefing_id)
    await services.briefing_plans.note_read(given.user_id, briefing.gathered.marks)
    return given
