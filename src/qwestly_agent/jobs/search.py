"""Query all boards in parallel, each with a timeout. Failed boards are named, and the others are used."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.base.settings import parse_quotas
from qwestly_agent.clients.job_boards import JobBoard, JobQuery
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.job import Advert
from qwestly_agent.jobs.same_job import merge_duplicates
from qwestly_agent.services import Services
from qwestly_agent.stores.jobs import LONGEST_CACHE_SECONDS, Adverts

QUESTIONS_A_DAY = 60
"""Maximum requests of one user to all boards; queries answered within the last hour are not repeated."""
SECONDS_TO_A_TURN = 60.0
"""Time that each nightly query waits for a board's quota of the next minute."""
ENOUGH_TODAY = "The boards were asked so often today that the rest waits for tomorrow."


@dataclass(frozen=True)
class FoundJobs:
    adverts: list[Advert]
    """The adverts that are still open, one per job."""
    missing: tuple[str, ...]
    """Sentences about boards that could not be queried."""


async def search_boards(
    services: Services, user_id: str, queries: Sequence[JobQuery], *, patience: float = 0.0
) -> FoundJobs:
    """Query the boards and store all adverts. `patience` is the maximum wait for a board's quota, in seconds."""
    missing: dict[str, None] = {}

    async def ask(board: JobBoard, query: JobQuery) -> list[Advert]:
        try:
            return await _answer(services, user_id, board, query, patience)
        except Unavailable as error:
            missing[error.message] = None
            services.logger.warning(Event.REQUEST_FAILED, extra={"board": board.name, **cause_of(error)})
            return []

    asked = [(board, query) for query in queries for board in services.job_boards.boards]
    told = await asyncio.gather(*(ask(board, query) for board, query in asked))
    now = services.clock()
    still_open = (each for adverts in told for each in adverts if not each.has_ended(now))
    return FoundJobs(merge_duplicates(still_open), tuple(missing))


async def _answer(services: Services, user_id: str, board: JobBoard, query: JobQuery, patience: float) -> list[Advert]:
    """Return the board's answer, or a cached one to any user's same query of the last hour, or of the last day if the
    board's quota is exhausted."""
    now = services.clock()
    name = sha256_hex(board.name, query.words.casefold(), query.place.casefold(), str(query.remote_only))
    if (known := await services.adverts.cached_answer(name, now)) is not None:
        return await _kept(services.adverts, known)
    if not await services.job_searches.count_board_request(user_id, now, QUESTIONS_A_DAY):
        raise Unavailable(ENOUGH_TODAY)
    if not await _may_ask(services, board, patience):
        if (known := await services.adverts.cached_answer(name, now, LONGEST_CACHE_SECONDS)) is not None:
            return await _kept(services.adverts, known)
        raise Unavailable(f"{board.title} was asked as often as our licence allows; the rest waits.")
    adverts = await board.search(query, now)
    await services.adverts.save(adverts)
    await services.adverts.cache_answer(name, [each.id for each in adverts], now)
    return adverts


async def _kept(adverts: Adverts, ids: Sequence[str]) -> list[Advert]:
    kept = await adverts.get_many(ids)
    return [kept[each] for each in ids if each in kept]


async def _may_ask(services: Services, board: JobBoard, patience: float) -> bool:
    """Count the request; False if our key cannot send it within `patience` seconds."""
    quota = parse_quotas(services.settings.job_board_quotas).get(board.name)
    while quota and (wait := await services.adverts.count_request(board.name, services.clock(), *quota)):
        if wait > patience:
            return False
        await asyncio.sleep(wait)
        patience -= wait
    return True
