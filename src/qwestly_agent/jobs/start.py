"""Start a search: at night for users who switched it on, or on request."""

from qwestly_agent.approvals import pause
from qwestly_agent.base.errors import Invalid, Unavailable
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.jobs.scout_state import ScoutState, run_of
from qwestly_agent.services import Services

NO_BOARDS = "No job board is connected here."
SAME_AGAIN = "You searched for exactly this a few minutes ago. Change what you want, or try again in ten minutes."
AGAIN_SECONDS = 600.0
"""Minimum seconds between two equal requests of a user."""


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


async def start_requested(services: Services, user_id: str) -> str:
    """Start a search on request: after one that found what there was, with the same wishes only ten minutes later.
    Raises what `start_scout` raises."""
    now, search = services.clock(), await services.job_searches.get(user_id)
    has_just_ended = search.run_id and search.status == "ready" and now - (search.searched_at or 0.0) < AGAIN_SECONDS
    if has_just_ended and search.searched_for == search.wishes:
        raise Invalid(SAME_AGAIN)
    # Requests beside each other are one search.
    key = f"asked {sha256_hex(search.wishes.model_dump_json(), search.run_id, search.status)}"
    return await start_scout(services, user_id, key)
