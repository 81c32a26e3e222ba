"""Search boards for a user, without adverts that were shown before or that the user's wishes rule out."""

from collections.abc import Sequence

from qwestly_agent.clients.job_boards import JobQuery
from qwestly_agent.domain.job import JobWishes
from qwestly_agent.jobs.limits import without_excluded
from qwestly_agent.jobs.person import person_of
from qwestly_agent.jobs.same_job import is_same
from qwestly_agent.jobs.scout_state import ScoutState
from qwestly_agent.jobs.search import SECONDS_TO_A_TURN, search_boards
from qwestly_agent.jobs.weights import weights_of
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import state

MOST_QUERIES = 6
MOST_FOUND = 200
MOST_EARLIER = 200
"""Number of earlier matches to compare with, as the same job can appear under another id."""
NO_WISHES = "Say which work you look for: there is no title to search for yet."


@state(ScoutState)
async def find(services: Services, given: ScoutState) -> ScoutState:
    """Query the boards once; the results are stored before they are used."""
    search = await services.job_searches.get(given.user_id)
    if search.run_id == given.run_id and search.found:
        return given.model_copy(update={"found": len(search.found)})
    person = await person_of(services, given.user_id)
    queries = queries_of(person.wishes)
    told = await search_boards(services, given.user_id, queries, patience=SECONDS_TO_A_TURN)
    earlier = [each.advert for each in await services.job_matches.newest(given.user_id, MOST_EARLIER)]
    known = await services.job_matches.list_shown_adverts(given.user_id)
    new = [each for each in told.adverts if each.id not in known and not any(is_same(each, other) for other in earlier)]
    fits, ruled_out = without_excluded(new, person.wishes)
    fits = fits[:MOST_FOUND]
    missing = (*told.missing, *ruled_out) if queries else (NO_WISHES,)
    await services.adverts.save(fits)
    await services.job_searches.save_parts(
        given.user_id,
        given.run_id,
        services.clock(),
        found=[each.id for each in fits],
        missing=list(missing),
        weights=await weights_of(services.job_matches, search),
    )
    return given.model_copy(update={"found": len(fits)})


def queries_of(wishes: JobWishes) -> Sequence[JobQuery]:
    """Return one query for each title and place, and one for remote jobs."""
    remote_only = wishes.remote == "only"
    places = ("",) if remote_only or not wishes.places else wishes.places
    queries = [JobQuery(title, place, remote_only) for place in places for title in wishes.titles]
    if wishes.remote == "any" and wishes.places:
        queries += [JobQuery(title, "", remote_only=True) for title in wishes.titles[:1]]
    return queries[:MOST_QUERIES]
