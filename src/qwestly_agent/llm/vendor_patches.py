"""Override private methods of libraries. Review each with every new version of openai or pydantic-ai.

`tests/unit/llm/test_vendor_patches.py` names those versions.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
from openai import AsyncOpenAI
from openai._models import FinalRequestOptions
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import FinishReason, ModelMessage, ModelResponse, ModelResponseStreamEvent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse

RETRIED_REFUSALS = (408, 409, 429)
"""Statuses below 500 that are retried: the request was valid, only its moment was not."""
LONGEST_WAIT_SECONDS = 10.0
"""As long as a person waits in front of an empty answer."""


class PatchedClient(AsyncOpenAI):
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
            except httpx2.RequestError:  # a truncated error page: its status suffices
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


class PatchedChatModel(OpenAIChatModel):
    """Report JSON of an unexpected shape as the provider's error; the library would fail on it with another one."""

    def _note_lookalike_frames(
        self,
        authored: list[ModelMessage],  # noqa: ARG002
        messages: list[ModelMessage],
        *,
        announce: bool,  # noqa: ARG002
    ) -> tuple[list[ModelMessage], bool]:
        # What imitates a frame is quoted already (`text.quoted`). The library's note on it would tell a model, in front
        # of the cached prefix, that such blocks do have authority.
        return messages, False

    async def _process_streamed_response(self, *args: Any, **kwargs: Any) -> OpenAIStreamedResponse:
        with _its_shape_trusted():
            return await super()._process_streamed_response(*args, **kwargs)

    def _process_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        with _its_shape_trusted():
            return super()._process_response(*args, **kwargs)

    @property
    def _streamed_response_cls(self) -> type[OpenAIStreamedResponse]:
        return PatchedStreamedResponse


class PatchedStreamedResponse(OpenAIStreamedResponse):
    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        with _its_shape_trusted():
            async for event in super()._get_event_iterator():
                yield event

    def _map_finish_reason(self, key: Any) -> FinishReason | None:
        # DeepSeek's own, api-docs.deepseek.com/api/create-chat-completion: it ran out of machines in the middle.
        return "error" if key == "insufficient_system_resource" else super()._map_finish_reason(key)


@contextmanager
def _its_shape_trusted() -> Iterator[None]:
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise UnexpectedModelBehavior(f"The answer has no shape that we know: {type(error).__name__}") from error
