"""Embed the search queries of one run. Concurrent queries share a request; after a failure the provider is not asked
again."""

import asyncio
from dataclasses import dataclass, field

from qwestly_agent.base.errors import Unavailable
from qwestly_agent.llm.embeddings import Embeddings


@dataclass
class QueryVectors:
    embeddings: Embeddings
    _vectors: dict[str, list[float] | None] = field(default_factory=dict)
    """None while the request is in progress."""
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _failed: bool = False

    async def get(self, query: str) -> list[float]:
        """Return the query's vector. Raises `Unavailable`, immediately if the provider failed earlier in this run."""
        self._vectors.setdefault(query, None)
        async with self._asking:
            await asyncio.sleep(0)  # let the other calls of this step add their queries first
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
