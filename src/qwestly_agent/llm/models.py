"""The models of each tier, with settings, prices and traces. No other module names a model."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import httpx2
from genai_prices import calc_price
from openai import AsyncOpenAI
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, Instrumentation
from pydantic_ai.exceptions import (
    FallbackExceptionGroup,
    ModelAPIError,
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    RetryModelRequest,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.deepseek import DeepSeekProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.base.observability import measure_refusal
from qwestly_agent.base.settings import Settings
from qwestly_agent.base.traces import Traces
from qwestly_agent.llm.client import (
    PROVIDER_ADDRESSES,
    PatchedChatModel,
    Renew,
    keys_of,
    make_key_reader,
    make_openai_client,
)

# --- models -----------------------------------------------------------------------------------------------------------
# The models of each tier, with settings and prices. No other module names a model.


Tier: TypeAlias = Literal["fast", "pro"]
"""`fast` routes, extracts and answers; `pro` writes texts for people, and judges."""

DEFAULT_MODELS: dict[Tier, str] = {"fast": "deepseek:deepseek-flash", "pro": "deepseek:deepseek-v4-pro"}

TIER_SETTINGS: dict[Tier, ModelSettings] = {
    # No tier uses thinking: it would delay the first word by seconds, and a thinking DeepSeek model rejects the forced
    # tool call that typed answers need.
    "fast": ModelSettings(temperature=0.3, max_tokens=4_000, thinking=False, first_event_timeout=30),
    "pro": ModelSettings(temperature=0.6, max_tokens=8_000, thinking=False, first_event_timeout=60),
}
"""`first_event_timeout` covers both attempts of a streamed request. A provider that queues a request may send
keep-alives for minutes, so a limit on the silence between bytes is not enough."""
JUDGE_SETTINGS = ModelSettings(temperature=0, max_tokens=6_000, thinking=False)

SILENCE_SECONDS: dict[Tier, float] = {"fast": 60, "pro": 120}
"""Maximum time between two bytes of an answer. An answer that is not streamed is complete before its first byte is
sent."""


PRICES_NOTED = date(2026, 11, 21)
"""When the prices of `DEFAULT_MODELS` in the library were last compared with the provider's own list,
api-docs.deepseek.com/quick_start/pricing."""
PEAK = datetime(2026, 11, 23, 2, tzinfo=UTC).timestamp()
"""A time at which DeepSeek's peak prices apply."""


def price_of(model_id: str | None, answered: str | None, usage: RequestUsage, at: float) -> Decimal | None:
    """Return the price in US dollars of a request sent to `provider:name` at this time. It uses the model name in the
    response or, if that has no price, the requested one, since providers may respond under another name. Returns None
    if neither has a price, because unknown is not free."""
    provider, _, asked = (model_id or "").partition(":")
    # A provider may report any count, but the cost must never be negative.
    sent, said = max(0, usage.input_tokens), max(0, usage.output_tokens)
    counted = RequestUsage(
        input_tokens=sent, cache_read_tokens=min(max(0, usage.cache_read_tokens), sent), output_tokens=said
    )
    for name in filter(None, (answered, asked)):
        with suppress(LookupError):
            moment = _priced_moment(provider, at)
            return calc_price(counted, name, provider_id=provider, genai_request_timestamp=moment).total_price
    return None


def _priced_moment(provider: str, at: float) -> datetime:
    moment = datetime.fromtimestamp(at, UTC)
    # The library knows DeepSeek's peak hours, but not that they apply only on working days.
    weekend = provider == "deepseek" and moment.weekday() >= SATURDAY
    return moment.replace(hour=0, minute=0) if weekend else moment


SATURDAY = 5


def ceiling_price_of(model_id: str | None, answered: str | None, usage: RequestUsage, at: float) -> Decimal:
    """Return the price of a request for a cost ceiling. A model without a price counts as our most expensive model."""
    price = price_of(model_id, answered, usage, at)
    if price is not None:
        return price
    return max(price_of(name, None, usage, PEAK) or Decimal(0) for name in DEFAULT_MODELS.values())


CHARACTERS_A_TOKEN = 4
MOST_TOKENS = 100_000_000
"""Maximum tokens of one answer; a higher reported count is implausible."""


def has_plausible_counts(usage: RequestUsage) -> bool:
    """True if the provider reported plausible token counts."""
    counts = (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens)
    return any(counts) and min(counts) >= 0 and max(counts) <= MOST_TOKENS


def estimate_usage(prompt_characters: int, answer_characters: int) -> RequestUsage:
    """Estimate the usage of an answer without plausible token counts, assuming that nothing was cached."""
    return RequestUsage(
        input_tokens=-(-prompt_characters // CHARACTERS_A_TOKEN),
        output_tokens=-(-answer_characters // CHARACTERS_A_TOKEN),
    )


@dataclass(frozen=True)
class TierModel:
    model: Model
    fallback: Model | None
    """Another provider's model, used if the first cannot answer."""
    instrumentation: InstrumentationSettings | None = None
    """How agent runs are traced; None if tracing is off."""


@dataclass
class Fallback(AbstractCapability[Any]):
    """Switches a run to another provider's model after the first model failed. The run keeps that model until its end,
    so that later steps do not call a provider that is down. The next run tries the first model again, so that a short
    outage does not move a conversation to a more expensive model for good. The library's `ModelFallback` returns to the
    first model if the second fails too."""

    model: Model
    _failure: Exception | None = field(default=None, init=False)
    """The first model's failure."""

    async def for_run(self, ctx: RunContext[Any]) -> "Fallback":  # noqa: ARG002
        return Fallback(self.model)

    async def prepare_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002
        request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        if self._failure and request_context.model is not self.model:
            raise RetryModelRequest(self.model)
        return request_context

    async def on_model_request_error(
        self,
        ctx: RunContext[Any],  # noqa: ARG002
        *,
        request_context: ModelRequestContext,  # noqa: ARG002
        error: Exception,
    ) -> ModelResponse:
        """Called only if no part of the answer was received."""
        if not isinstance(error, ModelAPIError | UnexpectedModelBehavior):
            raise error
        if self._failure:
            raise FallbackExceptionGroup("Both models failed.", [self._failure, error])
        self._failure = error
        raise RetryModelRequest(self.model)


class CountedRefusals(AbstractCapability[Any]):
    """Counts rejections that affect every user, even if a fallback model answers instead."""

    async def on_model_request_error(
        self,
        ctx: RunContext[Any],  # noqa: ARG002
        *,
        request_context: ModelRequestContext,
        error: Exception,
    ) -> ModelResponse:
        if refuses_all_requests(error):
            status = error.status_code if isinstance(error, ModelHTTPError) else None
            measure_refusal(request_context.model.model_id, status)
        raise error


def capabilities_of(model: TierModel) -> list[AbstractCapability[Any]]:
    """Return the capabilities that an agent needs for this model. The last one handles a failed request first."""
    traced = [Instrumentation(model.instrumentation)] if model.instrumentation else []
    return [*traced, *([Fallback(model.fallback)] if model.fallback else []), CountedRefusals()]


def refuses_all_requests(error: BaseException) -> bool:
    """True if a provider rejects every request, because of our key, billing, the model's name or our request format.

    When a provider rejects the content of one conversation, only the error's code and message differ: the status is 400
    in both cases, and DeepSeek uses the same code for a model that does not exist.
    """
    match error:
        case ModelContextWindowExceededError():
            return False
        case ModelQuotaExceededError() | ModelAuthenticationError() | ModelNotFoundError():
            return True
        case ModelRequestRejectedError():
            return not _OF_WHAT_IS_SAID.search(f"{error.provider_error_code} {error.message}")
        case _:
            return False


_OF_WHAT_IS_SAID = re.compile(
    r"content exists risk"  # DeepSeek
    r"|\b(?:content_filter|content_policy_violation|invalid_prompt|string_above_max_length)\b|usage policy",  # OpenAI
    re.IGNORECASE,
)


def make_models(settings: Settings, http: httpx2.AsyncClient, renew: Renew | None = None) -> dict[Tier, TierModel]:
    """Create a model for each tier, with the configured fallback. `renew` reads a rejected key again. Raises
    `InvalidSettings` for an unknown provider and for a provider without a key."""
    names: dict[Tier, str] = {
        "fast": settings.model_fast or DEFAULT_MODELS["fast"],
        "pro": settings.model_pro or DEFAULT_MODELS["pro"],
    }
    fallback = settings.model_fallback
    return {
        tier: TierModel(
            _make_model(name, tier, settings, http, renew),
            _make_model(fallback, tier, settings, http, renew) if fallback else None,
        )
        for tier, name in names.items()
    }


def make_judges(settings: Settings, http: httpx2.AsyncClient, renew: Renew | None = None) -> dict[Tier, TierModel]:
    """Create the judge of each tier's output: the other tier's model, or `MODEL_JUDGE`.

    A judge has no fallback, because the fallback model may have written the text. Raises `InvalidSettings` if a model
    would judge its own output.
    """
    names = {tier: getattr(settings, f"model_{tier}") or name for tier, name in DEFAULT_MODELS.items()}
    others: dict[Tier, Tier] = {"fast": "pro", "pro": "fast"}
    judges: dict[Tier, TierModel] = {}
    for writer, other in others.items():
        judge = settings.model_judge or names[other]
        if judge in (names[writer], settings.model_fallback):
            raise InvalidSettings(
                f"{judge} writes, so it cannot judge what was written. Set MODEL_JUDGE to another model than "
                "MODEL_FAST, MODEL_PRO and MODEL_FALLBACK."
            )
        judges[writer] = TierModel(_make_model(judge, other, settings, http, renew, JUDGE_SETTINGS), None)
    return judges


def _make_model(
    name: str,
    tier: Tier,
    settings: Settings,
    http: httpx2.AsyncClient,
    renew: Renew | None,
    its: ModelSettings | None = None,
) -> Model:
    provider_name, _, model_name = name.partition(":")
    keys = keys_of(settings)
    if provider_name not in keys or not model_name:
        raise InvalidSettings(f"A model is written provider:name with a provider of {sorted(keys)}, not {name!r}.")
    client = make_openai_client(
        api_key=keys[provider_name],
        base_url=settings.model_base_url or PROVIDER_ADDRESSES[provider_name],
        key_needed_for=None if settings.model_base_url else f"{provider_name.upper()}_API_KEY",
        http=http,
        silence_seconds=SILENCE_SECONDS[tier],
        renewed_key=renew and make_key_reader(renew, provider_name),
    )
    provider = _PROVIDERS[provider_name](client)
    return PatchedChatModel(
        model_name, provider=provider, profile=PROFILES[provider_name], settings=its or TIER_SETTINGS[tier]
    )


_PROVIDERS: dict[str, Callable[[AsyncOpenAI], DeepSeekProvider | OpenAIProvider]] = {
    "deepseek": lambda client: DeepSeekProvider(openai_client=client),
    "openai": lambda client: OpenAIProvider(openai_client=client),
}
"""The provider class for each provider; all of them use the OpenAI protocol."""

# Without this, a stream that a proxy truncated and closed cleanly would count as a complete answer.
_WHOLE_STREAMS = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
PROFILES: dict[str, OpenAIModelProfile] = {
    # DeepSeek's models think by default; disabling it takes the field `thinking`
    # (api-docs.deepseek.com/guides/thinking_mode), which OpenAI rejects. DeepSeek supports `strict` tools only in beta,
    # under another URL, and for all tools of a request or none (api-docs.deepseek.com/guides/tool_calls).
    "deepseek": {
        **_WHOLE_STREAMS,
        "openai_chat_thinking_false_body": {"thinking": {"type": "disabled"}},
        "openai_supports_strict_tool_definition": False,
    },
    "openai": _WHOLE_STREAMS,
}


# --- traced -----------------------------------------------------------------------------------------------------------
# Trace model calls with the library's instrumentation.


def with_tracing(models: dict[Tier, TierModel], traces: Traces | None) -> dict[Tier, TierModel]:
    """Return the models with tracing; unchanged without `traces`."""
    if traces is None:
        return models
    from pydantic_ai.models.instrumented import InstrumentationSettings

    instrumentation = InstrumentationSettings(
        tracer_provider=traces.provider,
        include_content=traces.includes_content,
        include_binary_content=False,
        # These parameters would repeat every tool and instruction in each span.
        include_model_request_parameters=False,
    )
    return {tier: replace(model, instrumentation=instrumentation) for tier, model in models.items()}
