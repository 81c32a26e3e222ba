"""Make the HTTP client of every provider. Only this client retries requests.

It retries once and honors Retry-After: it waits for a short time, and fails at once if the wait is longer. Every
library here retries by default, and retries multiply: two attempts in each of three layers are eight requests. State
machines retry a whole state instead, when no person waits for an answer.
"""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import httpx2
from openai import AsyncOpenAI

from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.base.settings import Settings
from qwestly_agent.llm.vendor_patches import LONGEST_WAIT_SECONDS, PatchedClient

PROVIDER_ADDRESSES = {"deepseek": "https://api.deepseek.com", "openai": "https://api.openai.com/v1"}

Renew: TypeAlias = Callable[[], Awaitable[Settings]]
"""Reads the secrets again, and returns the settings with them."""

ATTEMPTS_PER_REQUEST = 2
"""Only the provider's client retries: retries at several layers multiply."""
CONNECT_SECONDS = 5.0
SILENCE_SECONDS = 60.0
"""Maximum time between two bytes of an answer."""


def make_openai_client(
    *,
    api_key: str,
    base_url: str,
    key_needed_for: str | None,
    http: httpx2.AsyncClient,
    silence_seconds: float = SILENCE_SECONDS,
    longest_wait_seconds: float = LONGEST_WAIT_SECONDS,
    renewed_key: Callable[[], Awaitable[str]] | None = None,
) -> AsyncOpenAI:
    """Make a client for any OpenAI-compatible server. `key_needed_for` is the name of the variable that must hold
    the key; a server set by `model_base_url` may need none. `renewed_key` reads the key again after the server
    rejected it."""
    if key_needed_for and not api_key:
        raise InvalidSettings(f"Missing in the environment: {key_needed_for} (or the address of another server).")
    client = PatchedClient(
        api_key=api_key or "none",
        base_url=base_url,
        timeout=httpx2.Timeout(silence_seconds, connect=CONNECT_SECONDS),
        max_retries=ATTEMPTS_PER_REQUEST - 1,
        http_client=http,
    )
    client.longest_wait_seconds = longest_wait_seconds
    client.renewed_key = renewed_key
    return client


def keys_of(settings: Settings) -> dict[str, str]:
    """Return the key of each provider."""
    return {"deepseek": settings.deepseek_api_key, "openai": settings.openai_api_key}


def make_key_reader(renew: Renew, provider: str) -> Callable[[], Awaitable[str]]:
    """Return a function that reads the provider's key again."""

    async def key() -> str:
        return keys_of(await renew())[provider]

    return key
