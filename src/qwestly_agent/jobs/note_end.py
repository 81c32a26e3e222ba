"""Record why a search failed or was stopped."""

from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.jobs.scout_state import ScoutState
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import state


@state(ScoutState, under_brake=True)
async def note_end(services: Services, given: ScoutState) -> ScoutState:
    """Runs under the brake too, because nothing else records that it stopped."""
    end = "stopped" if given.error and given.error.kind == "Braked" else "failed"
    now = services.clock()
    search = await services.job_searches.get(given.user_id)
    if search.run_id == given.run_id and search.status == "searching":  # it may have died after storing some
        await services.job_matches.delete_others_of_run(given.user_id, given.run_id, ())
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
    return given.model_copy(update={"end": end})
