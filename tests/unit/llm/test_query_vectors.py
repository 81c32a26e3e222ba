"""A run's searches by meaning send as few requests as possible."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from qwestly_agent.base.errors import Unavailable
from qwestly_agent.llm.embeddings import QueryVectors

pytestmark = pytest.mark.anyio


@dataclass
class Provider:
    """Replaces the embeddings, and records their inputs."""

    down: bool = False
    asked: list[list[str]] = field(default_factory=list)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked.append(list(texts))
        await asyncio.sleep(0)
        if self.down:
            raise Unavailable
        return [[float(len(text))] for text in texts]


def vectors(provider: Provider) -> QueryVectors:
    return QueryVectors(provider)  # pyright: ignore[reportArgumentType]


async def test_concurrent_callers_share_an_embedding_request() -> None:
    provider = Provider()
    queries = vectors(provider)
    assert await asyncio.gather(*(queries.get(query) for query in ("a", "bb", "ccc"))) == [[1.0], [2.0], [3.0]]
    assert provider.asked == [["a", "bb", "ccc"]]


async def test_a_vector_is_requested_once_per_query() -> None:
    provider = Provider()
    queries = vectors(provider)
    await queries.get("a")
    assert await queries.get("a") == [1.0]
    await queries.get("b")
    assert provider.asked == [["a"], ["b"]]


async def test_a_failing_provider_is_called_once_for_all_queries() -> None:
    provider = Provider(down=True)
    queries = vectors(provider)
    failed = await asyncio.gather(*(queries.get(query) for query in "abc"), return_exceptions=True)
    assert all(isinstance(each, Unavailable) for each in failed)
    with pytest.raises(Unavailable):
        await queries.get("d")
    assert provider.asked == [["a", "b", "c"]]


async def test_a_cancelled_caller_does_not_cancel_the_others() -> None:
    provider = Provider()
    queries = vectors(provider)
    first, second = asyncio.create_task(queries.get("a")), asyncio.create_task(queries.get("b"))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == [1.0]
