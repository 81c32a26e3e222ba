"""Ask every board at once, each within its time; what fails is named, and the others tell."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.clients.job_boards import JobBoard, JobQuery
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.job import Advert
from qwestly_agent.jobs.same_job import one_of_each
from qwestly_agent.services import HasAdverts, HasClock, HasJobBoards, HasJobSearches, HasLogger

QUESTIONS_A_DAY = 60
"""Of one user, to all boards together; what the last hour answered already is not asked again."""
ENOUGH_TODAY = "The boards were asked so often today that the rest waits for tomorrow."


class SearchServices(HasAdverts, HasClock, HasJobBoards, HasJobSearches, HasLogger, Protocol): ...


@dataclass(frozen=True)
class FoundJobs:
    adverts: list[Advert]
    """One entry a job, as boards told of them."""
    missing: tuple[str, ...]
    """What could not be asked, in sentences."""


async def search_boards(services: SearchServices, user_id: str, queries: Sequence[JobQuery]) -> FoundJobs:
    """All adverts are kept."""
    missing: dict[str, None] = {}

    async def ask(board: JobBoard, query: JobQuery) -> list[Advert]:
        try:
            return await _answer(services, user_id, board, query)
        except Unavailable as error:
            missing[error.message] = None
            services.logger.warning(Event.REQUEST_FAILED, extra={"board": board.name, **cause_of(error)})
            return []

    asked = [(board, query) for query in queries for board in services.job_boards.boards]
    told = await asyncio.gather(*(ask(board, query) for board, query in asked))
    return FoundJobs(one_of_each(each for adverts in told for each in adverts), tuple(missing))


async def _answer(services: SearchServices, user_id: str, board: JobBoard, query: JobQuery) -> list[Advert]:
    now = services.clock()
    name = sha256_hex(board.name, query.words.casefold(), query.place.casefold(), str(query.remote_only))
    known = await services.adverts.answered(name, now)
    if known is not None:
        kept = await services.adverts.of_ids(known)
        return [kept[each] for each in known if each in kept]
    if not await services.job_searches.count(user_id, now, QUESTIONS_A_DAY):
        raise Unavailable(ENOUGH_TODAY)
    adverts = await board.search(query, now)
    await services.adverts.keep(adverts)
    await services.adverts.note_answer(name, [each.id for each in adverts], now)
    return adverts
