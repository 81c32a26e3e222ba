"""Which model does what, with its settings and its price. No other module names a model."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.deepseek import DeepSeekProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from qwestly_agent.clients.openai import PROVIDER_ADDRESSES, make_openai_client
from qwestly_agent.errors import InvalidSettings
from qwestly_agent.settings import Settings

Tier: TypeAlias = Literal["fast", "pro"]
"""`fast` routes, extracts and answers; `pro` writes what people read and judge."""

DEFAULT_MODELS: dict[Tier, str] = {"fast": "deepseek:deepseek-v4-flash", "pro": "deepseek:deepseek-v4-pro"}

TIER_SETTINGS: dict[Tier, ModelSettings] = {
    # Thinking would hold the first word back for seconds, and a chat answer rarely gains by it.
    "fast": ModelSettings(temperature=0.3, max_tokens=4_000, thinking=False, timeout=60),
    "pro": ModelSettings(temperature=0.6, max_tokens=8_000, timeout=120),
}


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    input: Decimal
    cached_input: Decimal
    output: Decimal

    def of(self, usage: RequestUsage) -> Decimal:
        """What a request cost, in US dollars; cached tokens are part of the input tokens."""
        fresh = usage.input_tokens - usage.cache_read_tokens
        millionths = (
            fresh * self.input + usage.cache_read_tokens * self.cached_input + usage.output_tokens * self.output
        )
        return millionths / 1_000_000


# The provider's own list, api-docs.deepseek.com/quick_start/pricing, as noted in November 2026. The library's price
# table differs from it, and a bill follows the provider's.
PRICES: dict[str, Price] = {
    "deepseek-v4-flash": Price(Decimal("0.14"), Decimal("0.0028"), Decimal("0.28")),
    "deepseek-v4-pro": Price(Decimal("1.74"), Decimal("0.0145"), Decimal("3.48")),
}


def price_of(model_name: str | None, usage: RequestUsage) -> Decimal | None:
    """None where we keep no price for the model: unknown is not free."""
    price = PRICES.get(model_name or "")
    return price.of(usage) if price else None


def make_models(settings: Settings, http: httpx2.AsyncClient) -> dict[Tier, Model]:
    """A model for each tier, with the configured fallback behind it. Raises `InvalidSettings` for an unknown provider
    and for a provider without a key."""
    names: dict[Tier, str] = {
        "fast": settings.model_fast or DEFAULT_MODELS["fast"],
        "pro": settings.model_pro or DEFAULT_MODELS["pro"],
    }
    models: dict[Tier, Model] = {}
    for tier, name in names.items():
        model = _make_model(name, tier, settings, http)
        if settings.model_fallback:
            model = FallbackModel(model, _make_model(settings.model_fallback, tier, settings, http))
        models[tier] = model
    return models


def _make_model(name: str, tier: Tier, settings: Settings, http: httpx2.AsyncClient) -> Model:
    provider_name, _, model_name = name.partition(":")
    keys: dict[str, str] = {"deepseek": settings.deepseek_api_key, "openai": settings.openai_api_key}
    if provider_name not in keys or not model_name:
        raise InvalidSettings(f"A model is written provider:name with a provider of {sorted(keys)}, not {name!r}.")
    client = make_openai_client(
        api_key=keys[provider_name],
        base_url=settings.model_base_url or PROVIDER_ADDRESSES[provider_name],
        key_needed_for=None if settings.model_base_url else f"{provider_name.upper()}_API_KEY",
        http=http,
    )
    provider = _PROVIDERS[provider_name](client)
    return OpenAIChatModel(model_name, provider=provider, settings=TIER_SETTINGS[tier])


_PROVIDERS: dict[str, Callable[[AsyncOpenAI], DeepSeekProvider | OpenAIProvider]] = {
    "deepseek": lambda client: DeepSeekProvider(openai_client=client),
    "openai": lambda client: OpenAIProvider(openai_client=client),
}
