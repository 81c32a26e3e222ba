"""Ask every board at once, each within its time; what fails is named, and the others tell."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.base.settings import quotas_of
from qwestly_agent.clients.job_boards import JobBoard, JobQuery
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.job import Advert
from qwestly_agent.jobs.same_job import one_of_each
from qwestly_agent.services import HasAdverts, HasClock, HasJobBoards, HasJobSearches, HasLogger, HasSettings
from qwestly_agent.stores.adverts import LONGEST_CACHE_SECONDS

QUESTIONS_A_DAY = 60
"""Of one user, to all boards together; what the last hour answered already is not asked again."""
SECONDS_TO_A_TURN = 60.0
"""How long a night waits for a board's next minute, each of its questions."""
ENOUGH_TODAY = "The boards were asked so often today that the rest waits for tomorrow."


class SearchServices(HasAdverts, HasClock, HasJobBoards, HasJobSearches, HasLogger, HasSettings, Protocol): ...


@dataclass(frozen=True)
class FoundJobs:
    adverts: list[Advert]
    """One entry a job, as boards told of them."""
    missing: tuple[str, ...]
    """What could not be asked, in sentences."""


async def search_boards(
    services: SearchServices, user_id: str, queries: Sequence[JobQuery], *, patience: float = 0.0
) -> FoundJobs:
    """All adverts are kept. `patience` is how many seconds may pass until a board may be asked again."""
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
    return FoundJobs(one_of_each(each for adverts in told for each in adverts), tuple(missing))


async def _answer(
    services: SearchServices, user_id: str, board: JobBoard, query: JobQuery, patience: float
) -> list[Advert]:
    """What the board, or somebody's question of the last hour, says; where the board may not be asked any more, one of
    the last day."""
    now = services.clock()
    name = sha256_hex(board.name, query.words.casefold(), query.place.casefold(), str(query.remote_only))
    if (known := await services.adverts.answered(name, now)) is not None:
        return await _kept(services, known)
    if not await services.job_searches.count(user_id, now, QUESTIONS_A_DAY):
        raise Unavailable(ENOUGH_TODAY)
    if not await _may_ask(services, board, patience):
        if (known := await services.adverts.answered(name, now, LONGEST_CACHE_SECONDS)) is not None:
            return await _kept(services, known)
        raise Unavailable(f"{board.title} was asked as often as our licence allows; the rest waits.")
    adverts = await board.search(query, now)
    await services.adverts.keep(adverts)
    await services.adverts.note_answer(name, [each.id for each in adverts], now)
    return adverts


async def _kept(services: SearchServices, ids: Sequence[str]) -> list[Advert]:
    kept = await services.adverts.of_ids(ids)
    return [kept[each] for each in ids if each in kept]


async def _may_ask(services: SearchServices, board: JobBoard, patience: float) -> bool:
    """Count the question; False if our key may not ask within `patience` seconds."""
    quota = quotas_of(services.settings.job_board_quotas).get(board.name)
    while quota and (wait := await services.adverts.count_question(board.name, services.clock(), *quota)):
        if wait > patience:
            return False
        await asyncio.sleep(wait)
        patience -= wait
    return True
