"""The model, key, address and price of a request."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias

import httpx2
import pytest
from openai import DefaultAsyncHttpx2Client
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelAPIError, ModelRequestTimeout, UnexpectedModelBehavior
from pydantic_ai.usage import RequestUsage

from infra.local.model_faults import Fault
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.base.settings import Settings
from qwestly_agent.llm.models import (
    DEFAULT_MODELS,
    PROVIDER_ADDRESSES,
    TIER_SETTINGS,
    Fallback,
    Tier,
    ceiling_price_of,
    estimate_usage,
    make_judges,
    make_models,
    price_of,
)
from tests.servers import SECRET, free_port


def settings(**given: Any) -> Settings:
    return Settings("mongodb://127.0.0.1:1", "qwestly_local", SECRET, **given)


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with DefaultAsyncHttpx2Client() as client:
        yield client


def agent(given: Settings, http: httpx2.AsyncClient) -> Agent:
    fast = make_models(given, http)["fast"]
    return Agent(fast.model, capabilities=[Fallback(fast.fallback)] if fast.fallback else [])


async def ask(given: Settings, http: httpx2.AsyncClient) -> str:
    return (await agent(given, http).run("Hello")).output


async def ask_streaming(given: Settings, http: httpx2.AsyncClient) -> str:
    async with agent(given, http).run_stream("Hello") as run:
        return await run.get_output()


Proposer: TypeAlias = Callable[[Settings, httpx2.AsyncClient], Awaitable[str]]
EITHER_WAY = pytest.mark.parametrize("asking", [ask, ask_streaming], ids=["whole", "streamed"])


MILLION = 1_000_000
PAGE = {
    "deepseek:deepseek-flash": ((0.15, 0.003, 0.60), (0.30, 0.006, 1.20)),
    "deepseek:deepseek-v4-flash": ((0.15, 0.003, 0.60), (0.30, 0.006, 1.20)),
    "deepseek:deepseek-v4-pro": ((0.66, 0.022, 1.98), (1.32, 0.044, 3.96)),
}
"""The provider's own list of November 2026, off-peak and peak: US dollars for a million tokens of input, of cached
input and of output. Peak is on working days, 01:00 to 04:00 and 06:00 to 10:00 UTC."""


def when(text: str) -> float:
    return datetime.fromisoformat(f"{text}:00+00:00").timestamp()


OFF_PEAK, IN_PEAK = when("2026-11-23 00:30"), when("2026-11-23 02:00")


@pytest.mark.parametrize("name", PAGE)
@pytest.mark.parametrize(
    ("at", "peak"),
    [
        ("2026-11-23 00:59", False),  # a Monday
        ("2026-11-23 01:00", True),
        ("2026-11-23 03:59", True),
        ("2026-11-23 04:00", False),
        ("2026-11-23 06:00", True),
        ("2026-11-27 09:59", True),
        ("2026-11-27 10:00", False),
        ("2026-11-28 02:00", False),  # a Saturday
        ("2026-11-29 02:00", False),
        ("2026-11-29 09:59", False),
        ("2026-11-30 02:00", True),
    ],
)
def test_a_request_costs_the_providers_list_price_at_its_time(name: str, at: str, peak: bool) -> None:
    usages = (
        RequestUsage(input_tokens=MILLION),
        RequestUsage(input_tokens=MILLION, cache_read_tokens=MILLION),
        RequestUsage(output_tokens=MILLION),
    )
    prices = tuple(float(price_of(name, None, usage, when(at)) or 0) for usage in usages)
    assert prices == pytest.approx(PAGE[name][peak], rel=0.01)


def test_the_answering_models_price_is_used_or_else_the_requested_models() -> None:
    usage = RequestUsage(input_tokens=MILLION, output_tokens=MILLION)
    flash, pro = "deepseek:deepseek-flash", "deepseek:deepseek-v4-pro"
    dearer = price_of(pro, None, usage, OFF_PEAK)
    assert price_of(flash, "deepseek-v4-pro", usage, OFF_PEAK) == dearer
    assert price_of(pro, "a-name-of-their-own", usage, OFF_PEAK) == dearer
    assert price_of(pro, None, usage, OFF_PEAK) == price_of(pro, "", usage, OFF_PEAK) == dearer


def test_an_openai_model_costs_the_same_at_any_hour() -> None:
    usage, name = RequestUsage(input_tokens=MILLION), "openai:gpt-4.1-mini"
    assert price_of(name, None, usage, OFF_PEAK) == price_of(name, None, usage, IN_PEAK) == Decimal("0.4")


def test_implausible_token_counts_never_cost_less_than_zero() -> None:
    usage = RequestUsage(input_tokens=-5, cache_read_tokens=7, output_tokens=-1)
    assert price_of("deepseek:deepseek-flash", None, usage, OFF_PEAK) == 0


@pytest.mark.parametrize("name", ["deepseek:unheard-of", "openai:unheard-of", "unheard-of:deepseek-flash", "", None])
def test_a_model_without_a_price_is_not_free(name: str | None) -> None:
    assert price_of(name, "unheard-of", RequestUsage(input_tokens=1), OFF_PEAK) is None


def test_a_model_without_a_price_counts_as_our_most_expensive_toward_a_ceiling() -> None:
    usage = RequestUsage(input_tokens=MILLION, cache_read_tokens=MILLION // 2, output_tokens=1_000)
    dearest = price_of("deepseek:deepseek-v4-pro", None, usage, IN_PEAK)
    assert dearest is not None
    assert ceiling_price_of("openai:unheard-of", None, usage, OFF_PEAK) == dearest
    assert ceiling_price_of(None, "unheard-of", usage, OFF_PEAK) == dearest
    flash = ceiling_price_of("deepseek:deepseek-flash", "deepseek-flash", usage, OFF_PEAK)
    assert flash == price_of("deepseek:deepseek-flash", None, usage, OFF_PEAK)
    assert flash < dearest


def test_unreported_usage_is_estimated_from_characters_without_caching() -> None:
    usage = estimate_usage(4_001, 7)
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (1_001, 0, 2)
    assert not estimate_usage(0, 0).has_values()


def test_each_default_model_has_a_price() -> None:
    assert set(DEFAULT_MODELS.values()) <= PAGE.keys()


@pytest.mark.anyio
@pytest.mark.parametrize(
    "name", ["deepseek-flash", "unheard-of:model", "deepseek:", ":deepseek-flash", "DeepSeek:deepseek-flash"]
)
async def test_a_model_of_an_unknown_provider_is_rejected_by_name(name: str, http: httpx2.AsyncClient) -> None:
    with pytest.raises(InvalidSettings, match=rf"deepseek.*openai.*{name}"):
        make_models(settings(deepseek_api_key="k", model_fast=name), http)


@pytest.mark.anyio
@EITHER_WAY
@pytest.mark.parametrize("tier", list(DEFAULT_MODELS))
async def test_thinking_is_off_in_every_tier_by_a_field_before_the_messages(
    tier: Tier, asking: Proposer, model: ModelServer, http: httpx2.AsyncClient
) -> None:
    name = DEFAULT_MODELS[tier]
    await asking(settings(model_base_url=model.base_url, model_fast=name), http)
    [sent] = [request.json for request in model.requests]
    assert sent["thinking"] == {"type": "disabled"}
    assert "reasoning_effort" not in sent
    assert list(sent)[-1] == "messages"  # or the next request would not begin with this one


@pytest.mark.anyio
@pytest.mark.parametrize("tier", list(DEFAULT_MODELS))
async def test_a_typed_answer_is_requested_by_a_forced_tool_call(
    tier: Tier, model: ModelServer, http: httpx2.AsyncClient
) -> None:
    tiers = make_models(settings(model_base_url=model.base_url), http)
    assert (await Agent(tiers[tier].model, output_type=Typed).run("Forty-two")).output == Typed(words="Forty-two")
    assert model.requests[0].json["tool_choice"] == "required"


class Typed(BaseModel):
    words: str


@pytest.mark.anyio
@EITHER_WAY
async def test_requests_to_openai_have_no_deepseek_fields(
    asking: Proposer, model: ModelServer, http: httpx2.AsyncClient
) -> None:
    await asking(settings(model_base_url=model.base_url, model_fast="openai:gpt-4.1-mini"), http)
    assert "thinking" not in model.requests[0].json


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
async def test_a_configured_server_takes_precedence_and_needs_no_key(
    model: ModelServer, http: httpx2.AsyncClient
) -> None:
    model.script(Reply(text="From here."))
    assert await ask(settings(model_base_url=model.base_url), http) == "From here."
    assert model.requests[0].json["model"] == "deepseek-flash"


@pytest.mark.anyio
async def test_keys_are_sent_to_a_configured_server_too(model: ModelServer, http: httpx2.AsyncClient) -> None:
    given = settings(model_base_url=model.base_url, deepseek_api_key="sk-deepseek", openai_api_key="sk-openai")
    await ask(given, http)
    assert model.requests[0].authorization == "Bearer sk-deepseek"


@pytest.mark.anyio
async def test_another_model_can_be_configured(model: ModelServer, http: httpx2.AsyncClient) -> None:
    given = settings(model_base_url=model.base_url, model_fast="openai:gpt-4.1-mini", openai_api_key="sk-openai")
    await ask(given, http)
    assert (model.requests[0].json["model"], model.requests[0].authorization) == ("gpt-4.1-mini", "Bearer sk-openai")


@pytest.mark.anyio
async def test_a_failing_provider_is_retried_only_once(model: ModelServer, http: httpx2.AsyncClient) -> None:
    model.script(*[Reply(fault=503, retry_after=0.001)] * 2)
    with pytest.raises(ModelAPIError):
        await ask(settings(model_base_url=model.base_url), http)
    assert len(model.requests) == 2


@pytest.mark.anyio
@EITHER_WAY
@pytest.mark.parametrize("fault", ["other_shape", "empty_choices", "html", "refuse_body"])
async def test_json_of_another_shape_is_an_unusable_answer_and_not_our_bug(
    model: ModelServer, http: httpx2.AsyncClient, fault: Fault, asking: Proposer
) -> None:
    model.fault = Reply(text=[], fault=fault, fault_after=0)
    with pytest.raises((UnexpectedModelBehavior, ModelAPIError)):
        await asking(settings(model_base_url=model.base_url), http)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "line",
    [
        b"null",
        b"[]",
        b'"words"',
        b'{"choices": "words"}',
        b'{"choices": [null]}',
        b'{"choices": {"a": 1}}',
        b'{"choices": [{"index": 0, "delta": []}]}',
        b'{"choices": [{"index": 0, "delta": {"tool_calls": "words"}}]}',
        b'{"choices": [], "created": "yesterday"}',
        b"[" * 100_000,
    ],
    ids=lambda line: line[:60].decode(),
)
async def test_no_line_of_a_stream_causes_an_internal_error(line: bytes) -> None:
    def answer(_: httpx2.Request) -> httpx2.Response:
        opening = b'data: {"choices": [{"index": 0, "delta": {"content": "Half of "}}]}\n\n'
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=opening + b"data: " + line + b"\n\n")

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        with pytest.raises((UnexpectedModelBehavior, ModelAPIError)):
            await ask_streaming(settings(model_base_url="http://127.0.0.1:1/v1"), http)


@pytest.mark.anyio
async def test_a_stream_without_a_finish_reason_is_no_answer(model: ModelServer, http: httpx2.AsyncClient) -> None:
    model.script(Reply(text="Half of it.", fault="no_finish"))
    with pytest.raises(ModelAPIError, match="finish_reason"):
        await ask_streaming(settings(model_base_url=model.base_url), http)


class KeepsTheLineAlive(httpx2.AsyncByteStream):
    """Sends comments like a provider that queues a request for minutes, so that no silence occurs."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(0)
            yield b": keep-alive\n\n"


@pytest.mark.anyio
@pytest.mark.parametrize("tier", ["fast", "pro"])
async def test_a_provider_that_sends_only_keep_alives_times_out(tier: Tier, monkeypatch: pytest.MonkeyPatch) -> None:
    hurried: dict[str, Any] = {**TIER_SETTINGS[tier]}
    hurried["first_event_timeout"] /= 500
    monkeypatch.setitem(TIER_SETTINGS, tier, hurried)
    headers = {"content-type": "text/event-stream"}
    answer = httpx2.Response(200, headers=headers, stream=KeepsTheLineAlive())
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: answer)) as http:
        model = make_models(settings(model_base_url="http://127.0.0.1:1/v1"), http)[tier].model
        with pytest.raises(ModelRequestTimeout):
            async with asyncio.timeout(5), Agent(model).run_stream("Hello") as run:
                await run.get_output()


@pytest.mark.anyio
@EITHER_WAY
async def test_the_fallback_is_called_if_the_first_model_refuses(
    model: ModelServer, http: httpx2.AsyncClient, asking: Proposer
) -> None:
    model.script(*[Reply(fault=503, retry_after=0.001)] * 2, Reply(text="I stand in."))
    given = settings(model_base_url=model.base_url, model_fallback="openai:gpt-4.1-mini")
    assert await asking(given, http) == "I stand in."
    assert [request.json["model"] for request in model.requests] == [*["deepseek-flash"] * 2, "gpt-4.1-mini"]


@pytest.mark.thorough
@pytest.mark.anyio
async def test_the_fallback_is_called_at_its_own_address_with_its_own_key(
    model: ModelServer, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROVIDER_ADDRESSES, "deepseek", f"http://127.0.0.1:{free_port()}/v1")
    monkeypatch.setitem(PROVIDER_ADDRESSES, "openai", model.base_url)
    model.script(Reply(text="I stand in."))
    given = settings(deepseek_api_key="sk-deepseek", openai_api_key="sk-openai", model_fallback="openai:gpt-4.1-mini")
    assert await ask(given, http) == "I stand in."
    assert model.requests[0].authorization == "Bearer sk-openai"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("given", "judges"),
    [
        ({}, {"pro": "deepseek:deepseek-flash", "fast": "deepseek:deepseek-v4-pro"}),
        ({"model_judge": "openai:gpt-5"}, {"pro": "openai:gpt-5", "fast": "openai:gpt-5"}),
        ({"model_fallback": "openai:gpt-5"}, {"pro": "deepseek:deepseek-flash", "fast": "deepseek:deepseek-v4-pro"}),
    ],
)
async def test_each_tiers_output_is_judged_by_another_model_without_fallback(
    given: dict[str, str], judges: dict[str, str], http: httpx2.AsyncClient
) -> None:
    made = make_judges(settings(deepseek_api_key="k", openai_api_key="k", **given), http)
    assert {tier: each.model.model_id for tier, each in made.items()} == judges
    assert all(each.fallback is None for each in made.values())


@pytest.mark.anyio
@pytest.mark.parametrize(
    "given",
    [
        {"model_judge": "deepseek:deepseek-v4-pro"},
        {"model_judge": "deepseek:deepseek-flash"},
        {"model_fast": "deepseek:deepseek-v4-pro"},
        {"model_judge": "openai:gpt-5", "model_fallback": "openai:gpt-5"},
        {"model_fallback": "deepseek:deepseek-flash"},
    ],
)
async def test_a_writer_configured_as_its_own_judge_is_rejected_at_startup(
    given: dict[str, str], http: httpx2.AsyncClient
) -> None:
    with pytest.raises(InvalidSettings, match="MODEL_JUDGE"):
        make_judges(settings(deepseek_api_key="k", openai_api_key="k", **given), http)
