"""The one client of every provider, and the one place where a request is made again.

One retry, with Retry-After honoured: a short wait is waited for, a longer one is told at once, because somebody waits.
"""

from typing import Any

import httpx2
from openai import AsyncOpenAI
from openai._models import FinalRequestOptions

from qwestly_agent.base.errors import InvalidSettings

PROVIDER_ADDRESSES = {"deepseek": "https://api.deepseek.com", "openai": "https://api.openai.com/v1"}

ATTEMPTS_PER_REQUEST = 2
"""The client of the provider retries, and nothing above it: retries at several layers multiply."""
RETRIED_REFUSALS = (408, 409, 429)
"""Of all statuses below 500: the request was right, and only its moment was not."""
LONGEST_WAIT_SECONDS = 10.0
"""As long as somebody who looks at an empty answer still sits there."""
CONNECT_SECONDS = 5.0
SILENCE_SECONDS = 60.0
"""Between two bytes of an answer."""


class _Client(AsyncOpenAI):
    longest_wait_seconds = LONGEST_WAIT_SECONDS

    async def _prepare_options(self, options: FinalRequestOptions) -> FinalRequestOptions:
        """Sends what never changes first, as providers lay a prompt out: then a request begins with the bytes of the
        last one, and whether the cached prefix holds can be read off the wire."""
        options = await super()._prepare_options(options)
        if isinstance(options.json_data, dict) and "messages" in options.json_data:
            body = {**options.json_data, **(options.extra_json or {})}
            messages = body.pop("messages")
            options.json_data, options.extra_json = {**body, "messages": messages}, None
        return options

    async def _send_request(self, request: httpx2.Request, *, stream: bool, **kwargs: Any) -> httpx2.Response:
        response = await super()._send_request(request, stream=stream, **kwargs)
        if response.is_error:
            try:
                await response.aread()
            except httpx2.RequestError:  # an error page that breaks off: its status says enough
                await response.aclose()
                return httpx2.Response(response.status_code, headers=response.headers, request=request)
        return response

    def _should_retry(self, response: httpx2.Response) -> bool:
        # Before the library's own rules: they obey an `x-should-retry: true` on any refusal, and wait two minutes.
        if response.status_code < 500 and response.status_code not in RETRIED_REFUSALS:
            return False
        wait = self._parse_retry_after_header(response.headers)
        if wait is not None and wait > self.longest_wait_seconds:
            return False
        return super()._should_retry(response)


def make_openai_client(
    *,
    api_key: str,
    base_url: str,
    key_needed_for: str | None,
    http: httpx2.AsyncClient,
    silence_seconds: float = SILENCE_SECONDS,
    longest_wait_seconds: float = LONGEST_WAIT_SECONDS,
) -> AsyncOpenAI:
    """A client of any OpenAI-compatible server. `key_needed_for` names the variable that must hold the key; a server of
    our own choosing may do without one."""
    if key_needed_for and not api_key:
        raise InvalidSettings(f"Missing in the environment: {key_needed_for} (or the address of another server).")
    client = _Client(
        api_key=api_key or "none",
        base_url=base_url,
        timeout=httpx2.Timeout(silence_seconds, connect=CONNECT_SECONDS),
        max_retries=ATTEMPTS_PER_REQUEST - 1,
        http_client=http,
    )
    client.longest_wait_seconds = longest_wait_seconds
    return client
