"""Vectors come back in the order of their texts, or not at all."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Literal

import httpx2
import pytest
from openai import AsyncOpenAI, DefaultAsyncHttpx2Client

from infra.local.model_faults import FaultStatus
from infra.local.model_server import ModelServer
from qwestly_agent.agents.tools.base import TIMEOUT_SECONDS as TOOL_SECONDS
from qwestly_agent.base.errors import ModelRefused, Unavailable
from qwestly_agent.bootstrap import make_embeddings
from qwestly_agent.domain.memory import DIMENSIONS
from qwestly_agent.llm.embeddings import (
    ATTEMPT_SECONDS,
    LONGEST_TEXT_CHARACTERS,
    LONGEST_WAIT_SECONDS,
    MODEL,
    TIMEOUT_SECONDS,
    Embeddings,
)
from tests.servers import free_port, settings_for

pytestmark = pytest.mark.anyio


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with DefaultAsyncHttpx2Client() as client:
        yield client


@pytest.fixture
def embeddings(model: ModelServer, http: httpx2.AsyncClient) -> Embeddings:
    return make_embeddings(settings_for("", model.base_url), http)


async def test_all_texts_are_embedded_in_one_request(embeddings: Embeddings, model: ModelServer) -> None:
    vectors = await embeddings.embed(["trains", "boats", "trains"])
    assert [len(vector) for vector in vectors] == [DIMENSIONS] * 3
    assert vectors[0] == vectors[2] != vectors[1]
    [asked] = model.requests
    assert (asked.json["model"], asked.json["dimensions"], asked.json["input"]) == (
        MODEL,
        DIMENSIONS,
        ["trains", "boats", "trains"],
    )


async def test_no_request_is_sent_for_no_texts(embeddings: Embeddings, model: ModelServer) -> None:
    assert await embeddings.embed([]) == []
    assert model.requests == []


async def test_empty_and_very_long_texts_are_adapted_for_the_provider(
    embeddings: Embeddings, model: ModelServer
) -> None:
    assert len(await embeddings.embed(["", "x" * 1_000_000])) == 2
    assert [len(text) for text in model.requests[0].json["input"]] == [1, LONGEST_TEXT_CHARACTERS]


def answer_of(*vectors: list[float], order: Sequence[int]) -> httpx2.Response:
    items = [{"object": "embedding", "index": n, "embedding": vectors[n]} for n in order]
    body = {"object": "list", "data": items, "model": MODEL, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    return httpx2.Response(200, json=body)


async def test_vectors_in_another_order_are_reordered() -> None:
    vectors = [[float(n)] * DIMENSIONS for n in range(3)]
    answer = answer_of(*vectors, order=(2, 0, 1))
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: answer)) as http:
        client = AsyncOpenAI(api_key="none", base_url="http://127.0.0.1:1/v1", http_client=http)
        assert await Embeddings(client).embed(["a", "b", "c"]) == vectors


@pytest.mark.parametrize("status", [400, 401])
async def test_a_provider_that_rejects_the_request_counts_as_unavailable(
    embeddings: Embeddings, model: ModelServer, status: Literal[400, 401]
) -> None:
    model.embeddings_fault = status
    with pytest.raises(Unavailable) as refused:
        await embeddings.embed(["trains"])
    assert "fault" not in refused.value.message


@pytest.mark.parametrize(("status", "ours"), [(401, True), (402, True), (403, True), (404, True), (400, False)])
async def test_a_provider_that_rejects_every_request_is_logged(
    model: ModelServer, http: httpx2.AsyncClient, status: FaultStatus, ours: bool
) -> None:
    noted: list[tuple[str, int]] = []
    embeddings = make_embeddings(settings_for("", model.base_url), http, lambda *refused: noted.append(refused))
    model.embeddings_fault = status
    with pytest.raises(Unavailable) as refused:
        await embeddings.embed(["trains"])
    assert isinstance(refused.value, ModelRefused) is ours
    assert noted == ([(f"openai:{MODEL}", status)] if ours else [])


async def test_an_unreachable_provider_counts_as_unavailable(http: httpx2.AsyncClient) -> None:
    client = AsyncOpenAI(api_key="none", base_url=f"http://127.0.0.1:{free_port()}/v1", http_client=http, max_retries=0)
    with pytest.raises(Unavailable):
        await Embeddings(client).embed(["trains"])


@pytest.mark.parametrize("fault", [429, 503])
async def test_a_provider_that_is_down_is_asked_at_most_twice(
    embeddings: Embeddings, model: ModelServer, fault: Literal[429, 503]
) -> None:
    model.embeddings_fault = fault
    with pytest.raises(Unavailable):
        await embeddings.embed(["trains"])
    assert len(model.requests) == 2


async def test_a_retry_after_of_the_embeddings_provider_is_not_waited_for() -> None:
    asked: list[httpx2.Request] = []

    def busy(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(429, headers={"retry-after": "2"})

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(busy)) as http:
        with pytest.raises(Unavailable):
            await make_embeddings(settings_for("", "http://127.0.0.1:1/v1"), http).embed(["trains"])
    assert len(asked) == 1


async def test_a_slow_provider_times_out_before_the_tool_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never(_: httpx2.Request) -> httpx2.Response:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr("qwestly_agent.llm.embeddings.TIMEOUT_SECONDS", 0.05)
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(never)) as http:
        with pytest.raises(Unavailable):
            await asyncio.wait_for(
                make_embeddings(settings_for("", "http://127.0.0.1:1/v1"), http).embed(["trains"]), 5
            )


def test_both_attempts_fit_into_the_tools_timeout() -> None:
    assert 2 * ATTEMPT_SECONDS + LONGEST_WAIT_SECONDS <= TIMEOUT_SECONDS <= TOOL_SECONDS - 3


NONSENSE = {
    "a page": httpx2.Response(200, text="<html>Sign in to the network</html>", headers={"content-type": "text/html"}),
    "half an object": httpx2.Response(200, text='{"data": [', headers={"content-type": "application/json"}),
    "no data": httpx2.Response(200, json={"object": "list"}),
    "no vectors": httpx2.Response(200, json={"object": "list", "data": []}),
    "too few vectors": answer_of([0.5] * DIMENSIONS, order=[0]),
    "vectors of another size": answer_of([0.5], [0.5], order=[0, 1]),
    "vectors that are numbers": httpx2.Response(200, json={"data": [{"index": n, "embedding": n} for n in (0, 1)]}),
    "nesting without end": httpx2.Response(200, text="[" * 100_000, headers={"content-type": "application/json"}),
}


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=list(NONSENSE))
async def test_an_invalid_response_counts_as_unavailable(answer: httpx2.Response) -> None:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: answer)) as http:
        client = AsyncOpenAI(api_key="none", base_url="http://127.0.0.1:1/v1", http_client=http, max_retries=0)
        with pytest.raises(Unavailable):
            await Embeddings(client).embed(["trains", "boats"])
