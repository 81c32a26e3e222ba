"""The client of every provider that speaks the OpenAI wire."""

import httpx2
from openai import AsyncOpenAI
from openai._models import FinalRequestOptions

from qwestly_agent.errors import InvalidSettings

PROVIDER_ADDRESSES = {"deepseek": "https://api.deepseek.com", "openai": "https://api.openai.com/v1"}

ATTEMPTS_PER_REQUEST = 2
"""The client of the provider retries, and nothing above it: retries at several layers multiply."""


class _ToolsBeforeMessages(AsyncOpenAI):
    """Sends what never changes first, as providers lay a prompt out: then a request begins with the bytes of the last
    one, and whether the cached prefix holds can be read off the wire."""

    async def _prepare_options(self, options: FinalRequestOptions) -> FinalRequestOptions:
        options = await super()._prepare_options(options)
        if isinstance(options.json_data, dict) and "messages" in options.json_data:
            body = dict(options.json_data)
            options.json_data = {
                **{name: body[name] for name in body if name != "messages"},
                "messages": body["messages"],
            }
        return options


def make_openai_client(
    *, api_key: str, base_url: str, key_needed_for: str | None, http: httpx2.AsyncClient
) -> AsyncOpenAI:
    """A client of any OpenAI-compatible server. `key_needed_for` names the variable that must hold the key; a server of
    our own choosing may do without one."""
    if key_needed_for and not api_key:
        raise InvalidSettings(f"Missing in the environment: {key_needed_for} (or the address of another server).")
    return _ToolsBeforeMessages(
        api_key=api_key or "none", base_url=base_url, max_retries=ATTEMPTS_PER_REQUEST - 1, http_client=http
    )
