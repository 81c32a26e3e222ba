"""Override private methods of libraries. Review each override with every new version of openai or pydantic-ai.

`tests/unit/llm/test_vendor_patches.py` names the reviewed versions.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx2
from openai import AsyncOpenAI, AsyncStream
from openai._base_client import make_request_options
from openai._compat import cached_property
from openai._models import FinalRequestOptions
from openai._types import not_given
from openai._utils import is_given
from openai.resources.chat import AsyncChat, AsyncCompletions
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import Choice, ChoiceDelta
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import FinishReason, ModelMessage, ModelResponse, ModelResponseStreamEvent
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse
from pydantic_ai.models.openai._chat_completions import split_content_parts

from qwestly_agent.llm.lenient import ToolCallReader, VisibleText
from qwestly_agent.llm.tool_schemas import ToolSchemas

UNAUTHORIZED = 401
RETRIED_REFUSALS = (408, 409, 429)
"""Statuses below 500 that are retried: the same request may succeed later."""
LONGEST_WAIT_SECONDS = 10.0
"""The longest time that a person waits for the first word."""


class PatchedCompletions(AsyncCompletions):
    async def create(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *, stream: bool, extra_headers: Any = None, extra_body: Any = None, timeout: Any = not_given, **body: Any
    ) -> Any:
        """Send the body unchanged. pydantic-ai already uses the API's field names; the library would search each
        message and tool for aliases."""
        return await self._post(
            "/chat/completions",
            body={name: value for name, value in {**body, "stream": stream}.items() if is_given(value)},
            options=make_request_options(
                extra_headers=extra_headers, extra_body=extra_body, timeout=timeout, security={"bearer_auth": True}
            ),
            cast_to=ChatCompletion,
            stream=stream,
            stream_cls=AsyncStream[ChatCompletionChunk],
        )


class PatchedChat(AsyncChat):
    @cached_property
    def completions(self) -> PatchedCompletions:
        return PatchedCompletions(self._client)


class PatchedClient(AsyncOpenAI):
    longest_wait_seconds = LONGEST_WAIT_SECONDS
    renewed_key: Callable[[], Awaitable[str]] | None = None
    """Reads the key again, as a rejected one may have been rotated. The request is then sent once more. This does not
    count as an attempt, because the provider did not process the first one."""

    @cached_property
    def chat(self) -> PatchedChat:
        return PatchedChat(self)

    async def _prepare_options(self, options: FinalRequestOptions) -> FinalRequestOptions:
        """Put constant fields first, in the order in which providers build the prompt. A request then begins with the
        same bytes as the previous one, and tests can see on the wire whether the cached prefix is kept."""
        options = await super()._prepare_options(options)
        if isinstance(options.json_data, dict) and "messages" in options.json_data:
            body = {**options.json_data, **(options.extra_json or {})}
            messages = body.pop("messages")
            options.json_data, options.extra_json = {**body, "messages": messages}, None
        return options

    async def _send_request(self, request: httpx2.Request, *, stream: bool, **kwargs: Any) -> httpx2.Response:
        response = await super()._send_request(request, stream=stream, **kwargs)
        if response.status_code == UNAUTHORIZED and self.renewed_key and (key := await self.renewed_key()):
            renewed = f"Bearer {key}"
            self.api_key = key
            if request.headers.get("Authorization") != renewed:
                await response.aclose()
                request.headers["Authorization"] = renewed
                response = await super()._send_request(request, stream=stream, **kwargs)
        if response.is_error:
            try:
                await response.aread()
            except httpx2.RequestError:  # a truncated error page: its status suffices
                await response.aclose()
                return httpx2.Response(response.status_code, headers=response.headers, request=request)
        return response

    def _should_retry(self, response: httpx2.Response) -> bool:
        # Check before the library, which honors `x-should-retry: true` on any refusal, and waits for up to two minutes.
        if response.status_code < 500 and response.status_code not in RETRIED_REFUSALS:
            return False
        wait = self._parse_retry_after_header(response.headers)
        if wait is not None and wait > self.longest_wait_seconds:
            return False
        return super()._should_retry(response)


class PatchedChatModel(OpenAIChatModel):
    """Reports JSON of an unexpected shape as a provider error; the library would fail with other exceptions."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tool_schemas = ToolSchemas()

    def customize_request_parameters(self, model_request_parameters: ModelRequestParameters) -> ModelRequestParameters:
        """Transform each tool only once: requests repeat the tools, and tracing would transform them all again."""
        tools, schemas = model_request_parameters.function_tools, self.tool_schemas
        missing = schemas.missing(tools)
        made = super().customize_request_parameters(replace(model_request_parameters, function_tools=missing))
        schemas.keep(missing, made.function_tools)
        return replace(made, function_tools=[schemas.transformed(each) for each in tools])

    def _note_lookalike_frames(
        self,
        authored: list[ModelMessage],  # noqa: ARG002
        messages: list[ModelMessage],
        *,
        announce: bool,  # noqa: ARG002
    ) -> tuple[list[ModelMessage], bool]:
        # Imitations of a frame are already quoted (`text.quoted`). The library's note about them would tell the model,
        # before the cached prefix, that such blocks have authority.
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


HAS_MARKUP = "has_markup"
"""Key in a response's `provider_details`: the model wrote a tool call, or an unclosed thought, as text."""


class PatchedStreamedResponse(OpenAIStreamedResponse):
    """Passes on text and tool calls as corrected by `llm.lenient`; tool calls only at the end of the stream."""

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        asked = self._parts_manager.model_request_parameters
        self._words = VisibleText()
        self._calls = ToolCallReader([tool.name for tool in (*asked.function_tools, *asked.output_tools)])
        with _its_shape_trusted():
            async for event in super()._get_event_iterator():
                yield event
            for event in self.text_events(self._words.end()):
                yield event
            if self._words.has_markup:
                self.provider_details = {**(self.provider_details or {}), HAS_MARKUP: True}
            for call in self._calls.calls():
                yield self._parts_manager.handle_tool_call_part(
                    vendor_part_id=None, tool_name=call.name, args=call.arguments, tool_call_id=call.id
                )

    def _map_text_delta(self, choice: Choice) -> Iterable[ModelResponseStreamEvent]:
        content, _ = split_content_parts(choice.delta.content)
        return self.text_events(self._words.feed(content) if isinstance(content, str) else "")

    def text_events(self, text: str) -> Iterable[ModelResponseStreamEvent]:
        return super()._map_text_delta(Choice(index=0, delta=ChoiceDelta(content=text)))

    def _map_tool_call_delta(self, choice: Choice) -> Iterable[ModelResponseStreamEvent]:
        for each in choice.delta.tool_calls or ():
            name, arguments = (each.function.name, each.function.arguments) if each.function else (None, None)
            self._calls.feed(each.index, each.id, name, arguments)
        if old := choice.delta.function_call:
            self._calls.feed(None, None, old.name, old.arguments)
        return ()

    def _map_finish_reason(self, key: Any) -> FinishReason | None:
        # DeepSeek's own value, api-docs.deepseek.com/api/create-chat-completion: it ran out of capacity midway.
        return "error" if key == "insufficient_system_resource" else super()._map_finish_reason(key)


@contextmanager
def _its_shape_trusted() -> Iterator[None]:
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise UnexpectedModelBehavior(f"The answer has no shape that we know: {type(error).__name__}") from error
