"""Show the matches to their user, once."""

from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.jobs.scout_state import ScoutState
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import state

FORGOTTEN = "You had something forgotten meanwhile, so nothing was kept. What was found comes up again next time."


@state(ScoutState)
async def keep(services: Services, given: ScoutState) -> ScoutState:
    """Store the matches and end the search; if something was forgotten meanwhile, withdraw them and try again."""
    user_id, run_id = given.user_id, given.run_id
    while True:
        search = await services.job_searches.get(user_id)
        if search.run_id != run_id or search.status != "searching":
            return given
        now = services.clock()
        # Store only matches that were checked; if the check never ran, store none.
        matches = [
            each.model_copy(update={"found_at": now, "updated_at": now}) for each in search.ranked if each.evidence
        ]
        if search.forgettings and search.found and not search.ranked:
            await services.job_searches.save_parts(user_id, run_id, now, missing=search.missing_with(FORGOTTEN))
        await services.job_matches.add_all(matches)
        await services.job_matches.delete_others_of_run(user_id, run_id, [each.id for each in matches])
        event = _event(given, len(matches), now) if matches else None
        if await services.job_searches.end_unless_forgotten(search, event, now):
            return given
        # Something was forgotten, or the user was erased, since the search was read.
        await services.job_matches.delete_others_of_run(user_id, run_id, ())


def _event(given: ScoutState, count: int, now: float) -> ActivityEvent:
    return ActivityEvent(
        id=f"{given.run_id}:found",
        user_id=given.user_id,
        at=now,
        type="jobs.found",
        role="jobs",
        title=f"Found {count} {'job' if count == 1 else 'jobs'} that may suit you",
        run_id=given.run_id,
        data={"count": count},
    )
