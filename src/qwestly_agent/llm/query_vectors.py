"""One run's searches by meaning: those that ask at the same moment share a request, and a provider that is down is
asked once."""

import asyncio
from dataclasses import dataclass, field

from qwestly_agent.base.errors import Unavailable
from qwestly_agent.llm.embeddings import Embeddings


@dataclass
class QueryVectors:
    embeddings: Embeddings
    _vectors: dict[str, list[float] | None] = field(default_factory=dict)
    """None while it is asked for."""
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _failed: bool = False

    async def of(self, query: str) -> list[float]:
        """Raises `Unavailable`, at once when the provider has failed in this run before."""
        self._vectors.setdefault(query, None)
        async with self._asking:
            await asyncio.sleep(0)  # the other calls of this step have their say first
            return self._vectors[query] or (await self._ask())[query]

    async def _ask(self) -> dict[str, list[float]]:
        if self._failed:
            raise Unavailable("Search by meaning cannot be reached right now.")
        wanted = [query for query, vector in self._vectors.items() if vector is None]
        try:
            found = dict(zip(wanted, await self.embeddings.embed(wanted), strict=True))
        except Unavailable:
            self._failed = True
            raise
        self._vectors.update(found)
        return found
