"""A search by whoever is not an agent: as an agent's, by meaning where that can be had."""

from qwestly_agent.bootstrap import FullHouse
from qwestly_agent.errors import Unavailable
from qwestly_agent.memory.model import Found
from qwestly_agent.observability import Event


async def find(house: FullHouse, user_id: str, query: str, limit: int) -> list[Found]:
    """What holds, the best first."""
    return await house.memories.search(user_id, query, await _vector_of(house, query), limit, house.clock())


async def _vector_of(house: FullHouse, query: str) -> list[float] | None:
    try:
        [vector] = await house.embeddings.embed([query])
    except Unavailable:
        house.logger.warning(Event.SEARCH_WITHOUT_VECTORS)
        return None
    return vector
