"""Embed texts and search queries as vectors."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from openai import APIStatusError, AsyncOpenAI, OpenAIError
from openai.types import CreateEmbeddingResponse

from qwestly_agent.base.errors import ModelRefused, Unavailable
from qwestly_agent.domain.memory import DIMENSIONS

# --- embeddings -------------------------------------------------------------------------------------------------------
# Embed texts as vectors: OpenAI's `text-embedding-3-small`, 1,536 dimensions, compared by cosine.


MODEL = "text-embedding-3-small"
ATTEMPT_SECONDS = 3.0
TIMEOUT_SECONDS = 7.0
"""Limit for both attempts together, which leaves time for the search by words within a tool's ten seconds."""
LONGEST_WAIT_SECONDS = 1.0
"""Longest wait before the second attempt. If the provider requests a longer wait, there is no second attempt."""
LONGEST_TEXT_CHARACTERS = 24_000
"""The model reads up to 8,191 tokens; three characters per token is a cautious estimate for English, and enough for a
search."""


REFUSALS = (401, 402, 403, 404)
"""Statuses that affect every request: key, billing, model name. A 400 may affect only one text."""


USD_A_MILLION_TOKENS = 0.02
"""Source: openai.com/api/pricing, November 2026."""
CHARACTERS_A_TOKEN = 3


def cost_usd(texts: Sequence[str]) -> float:
    """Estimate the cost of embedding these texts, erring on the high side."""
    return sum(len(each[:LONGEST_TEXT_CHARACTERS]) for each in texts) / CHARACTERS_A_TOKEN * USD_A_MILLION_TOKENS / 1e6


@dataclass(frozen=True)
class Embeddings:
    client: AsyncOpenAI
    on_refusal: Callable[[str, int], None] | None = None
    """Called with the model (`provider:name`) and the status."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, in order, with a single request. Raises `Unavailable`, or its subclass
        `ModelRefused` if the provider rejects every request."""
        if not texts:
            return []
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                answer = await self.request(texts)
            vectors = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
            sizes = [len(vector) for vector in vectors]
        except APIStatusError as error:
            if error.status_code in REFUSALS or error.code == "insufficient_quota":
                if self.on_refusal:
                    self.on_refusal(f"openai:{MODEL}", error.status_code)
                raise ModelRefused("Search by meaning cannot be reached right now.") from error
            raise Unavailable("Search by meaning cannot be reached right now.") from error
        # The client raises various kinds of errors for an HTML page or a truncated object.
        except (OpenAIError, TimeoutError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise Unavailable("Search by meaning cannot be reached right now.") from error
        if sizes != [DIMENSIONS] * len(texts):
            raise Unavailable("Search by meaning cannot be reached right now.")
        return vectors

    async def request(self, texts: Sequence[str]) -> CreateEmbeddingResponse:
        """Return the provider's response. Raises `OpenAIError`."""
        return await self.client.embeddings.create(
            model=MODEL,
            dimensions=DIMENSIONS,
            input=[text[:LONGEST_TEXT_CHARACTERS] or " " for text in texts],
            timeout=ATTEMPT_SECONDS,
        )


# --- query vectors ----------------------------------------------------------------------------------------------------
# Embed the search queries of one run. Concurrent queries share a request; after a failure no further request is sent.


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
            await asyncio.sleep(0)  # let the other calls of this step add their queries
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
