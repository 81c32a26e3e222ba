"""Start a search: at night for users who switched it on, or on request."""

from qwestly_agent.approvals import pause
from qwestly_agent.base.errors import Invalid, Unavailable
from qwestly_agent.jobs.scout_state import ScoutState, run_of
from qwestly_agent.services import Services

NO_BOARDS = "No job board is connected here."
AGAIN_SECONDS = 600.0
"""Minimum seconds between two requests of a user."""


async def start_scout(services: Services, user_id: str, key: str, *, at_night: bool = False) -> str:
    """Return the run's id, or that of a running search. Raises `Braked`, `Invalid` and `Unavailable`."""
    if not services.job_boards.boards:
        raise Invalid(NO_BOARDS)
    await pause.check(services.signals, user_id)
    now, run_id = services.clock(), run_of(user_id, key)
    search = await services.job_searches.get(user_id)
    if search.is_searching(now) and search.run_id != run_id:
        return search.run_id
    await services.usage.ensure_document(user_id, now)
    await services.job_searches.begin(user_id, run_id, now)
    given = ScoutState(user_id=user_id, run_id=run_id, at_night=at_night)
    try:
        await services.workflows.start("scout_jobs", run_id, given.out)
    except Unavailable:
        await services.job_searches.undo_begin(user_id, run_id)
        raise
    return run_id


def key_now(now: float) -> str:
    """Return the same key for requests within ten minutes, so that they are one search."""
    return f"asked {int(now // AGAIN_SECONDS)}"
