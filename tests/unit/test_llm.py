"""Which model is asked, with which key, where, and for how much."""

from collections.abc import AsyncIterator, Awaitable, Callable
from decimal import Decimal

import httpx2
import pytest
from openai import DefaultAsyncHttpx2Client
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.usage import RequestUsage

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.errors import InvalidSettings
from qwestly_agent.llm import DEFAULT_MODELS, PRICES, PROVIDER_ADDRESSES, make_models, price_of
from qwestly_agent.settings import Settings
from tests.servers import SECRET, free_port


def settings(**given: str) -> Settings:
    return Settings("mongodb://127.0.0.1:1", "qwestly_local", SECRET, **given)


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with DefaultAsyncHttpx2Client() as client:
        yield client


async def ask(given: Settings, http: httpx2.AsyncClient) -> str:
    return (await Agent(make_models(given, http)["fast"]).run("Hello")).output


async def ask_streaming(given: Settings, http: httpx2.AsyncClient) -> str:
    async with Agent(make_models(given, http)["fast"]).run_stream("Hello") as run:
        return await run.get_output()


def test_a_million_tokens_cost_what_the_providers_list_says() -> None:
    million = RequestUsage(input_tokens=1_000_000, output_tokens=1_000_000)
    assert price_of("deepseek-v4-flash", million) == Decimal("0.42")
    assert price_of("deepseek-v4-pro", million) == Decimal("5.22")


def test_cached_tokens_are_part_of_the_input_and_cost_a_fiftieth() -> None:
    usage = RequestUsage(input_tokens=1_000_000, cache_read_tokens=900_000)
    assert price_of("deepseek-v4-flash", usage) == Decimal("0.014") + Decimal("0.00252")


def test_a_model_without_a_price_is_not_free() -> None:
    assert price_of("unheard-of", RequestUsage(input_tokens=1)) is None
    assert price_of(None, RequestUsage(input_tokens=1)) is None


def test_each_model_that_is_used_by_default_has_a_price() -> None:
    assert {name.partition(":")[2] for name in DEFAULT_MODELS.values()} <= PRICES.keys()


@pytest.mark.anyio
@pytest.mark.parametrize(
    "name", ["deepseek-v4-flash", "unheard-of:model", "deepseek:", ":deepseek-v4-flash", "DeepSeek:deepseek-v4-flash"]
)
async def test_a_model_of_an_unknown_provider_is_refused_by_name(name: str, http: httpx2.AsyncClient) -> None:
    with pytest.raises(InvalidSettings, match=rf"deepseek.*openai.*{name}"):
        make_models(settings(deepseek_api_key="k", model_fast=name), http)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("given", "variable"),
    [
        ({}, "DEEPSEEK_API_KEY"),
        ({"openai_api_key": "k"}, "DEEPSEEK_API_KEY"),
        ({"deepseek_api_key": "k", "model_pro": "openai:gpt-5"}, "OPENAI_API_KEY"),
        ({"deepseek_api_key": "k", "model_fallback": "openai:gpt-5"}, "OPENAI_API_KEY"),
    ],
    ids=str,
)
async def test_a_missing_key_is_named_by_its_variable(
    given: dict[str, str], variable: str, http: httpx2.AsyncClient
) -> None:
    with pytest.raises(InvalidSettings, match=variable):
        make_models(settings(**given), http)


@pytest.mark.anyio
async def test_a_server_of_our_own_choosing_wins_and_needs_no_key(model: ModelServer, http: httpx2.AsyncClient) -> None:
    model.script(Reply(text="From here."))
    assert await ask(settings(model_base_url=model.base_url), http) == "From here."
    assert model.requests[0].json["model"] == "deepseek-v4-flash"


@pytest.mark.anyio
async def test_keys_are_sent_to_a_server_of_our_own_choosing_too(model: ModelServer, http: httpx2.AsyncClient) -> None:
    given = settings(model_base_url=model.base_url, deepseek_api_key="sk-deepseek", openai_api_key="sk-openai")
    await ask(given, http)
    assert model.requests[0].authorization == "Bearer sk-deepseek"


@pytest.mark.anyio
async def test_another_model_can_be_configured(model: ModelServer, http: httpx2.AsyncClient) -> None:
    given = settings(model_base_url=model.base_url, model_fast="openai:gpt-4.1-mini", openai_api_key="sk-openai")
    await ask(given, http)
    assert (model.requests[0].json["model"], model.requests[0].authorization) == ("gpt-4.1-mini", "Bearer sk-openai")


@pytest.mark.anyio
async def test_a_provider_that_stumbles_is_asked_once_more_and_no_oftener(
    model: ModelServer, http: httpx2.AsyncClient
) -> None:
    model.script(*[Reply(fault=503, retry_after=0.001)] * 2)
    with pytest.raises(ModelAPIError):
        await ask(settings(model_base_url=model.base_url), http)
    assert len(model.requests) == 2


@pytest.mark.anyio
@pytest.mark.parametrize("asking", [ask, ask_streaming], ids=["whole", "streamed"])
async def test_the_fallback_is_asked_where_the_first_refuses(
    model: ModelServer, http: httpx2.AsyncClient, asking: Callable[[Settings, httpx2.AsyncClient], Awaitable[str]]
) -> None:
    model.script(*[Reply(fault=503, retry_after=0.001)] * 2, Reply(text="I stand in."))
    given = settings(model_base_url=model.base_url, model_fallback="openai:gpt-4.1-mini")
    assert await asking(given, http) == "I stand in."
    assert [request.json["model"] for request in model.requests] == [*["deepseek-v4-flash"] * 2, "gpt-4.1-mini"]


@pytest.mark.anyio
async def test_the_fallback_is_asked_at_its_own_address_with_its_own_key_where_the_first_is_gone(
    model: ModelServer, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROVIDER_ADDRESSES, "deepseek", f"http://127.0.0.1:{free_port()}/v1")
    monkeypatch.setitem(PROVIDER_ADDRESSES, "openai", model.base_url)
    model.script(Reply(text="I stand in."))
    given = settings(deepseek_api_key="sk-deepseek", openai_api_key="sk-openai", model_fallback="openai:gpt-4.1-mini")
    assert await ask(given, http) == "I stand in."
    assert model.requests[0].authorization == "Bearer sk-openai"
