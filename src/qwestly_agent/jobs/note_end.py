"""Record why a search failed or was stopped."""

from qwestly_agent.base.errors import StageOverBudget
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.jobs.scout_state import ScoutState
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import state


@state(ScoutState, ignores_brake=True)
async def note_end(services: Services, given: ScoutState) -> ScoutState:
    """Record the end of the search. It also runs under the brake, because nothing else records the stop."""
    end = "stopped" if given.error_kind == "Braked" else "failed"
    now = services.clock()
    search = await services.job_searches.get(given.user_id)
    if search.run_id == given.run_id and search.status == "searching":  # it may have died after storing some
        await services.job_matches.delete_others_of_run(given.user_id, given.run_id, ())
        if given.error_kind == StageOverBudget.__name__:
            missing = search.missing_with(StageOverBudget.sentence)
            await services.job_searches.save_parts(given.user_id, given.run_id, now, missing=missing)
    event = ActivityEvent(
        id=f"{given.run_id}:{end}",
        user_id=given.user_id,
        at=now,
        type=f"jobs.{end}",
        role="jobs",
        severity="warning",
        title="Stopped when you paused: searching for jobs" if end == "stopped" else "Jobs could not be searched for",
        run_id=given.run_id,
    )
    await services.job_searches.end(given.user_id, given.run_id, end, event, now)
    return given.ended(end)
