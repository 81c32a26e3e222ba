"""The HTTP client for all providers, and overrides of private library methods."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias

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
from pydantic_ai.tools import ToolDefinition

from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.base.settings import Settings
from qwestly_agent.text.clean import well_formed

# --- vendor patches ---------------------------------------------------------------------------------------------------
# Override private library methods, and read the streams of servers that only resemble OpenAI's. Review the overrides
# for every new version of openai or pydantic-ai: `tests/unit/llm/test_vendor_patches.py` names the reviewed versions.
#
# Observed with DeepSeek, vLLM, SGLang, Ollama and proxies: a tool's name repeated in each delta, several calls under
# one index, arguments sent twice or as snapshots; `<｜DSML｜…>`, `<｜tool▁calls▁begin｜>` and `<think>` in the content.


# --- tool calls -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReadCall:
    """A reconstructed tool call. Arguments that are not a JSON object are kept as received."""

    name: str
    arguments: str
    id: str | None


@dataclass
class _Call:
    index: int | None
    ids: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    pieces: list[tuple[str | None, str]] = field(default_factory=list)
    """Parts of the arguments, each with the call's id if its delta contained one."""

    @property
    def is_whole(self) -> bool:
        """True if the arguments are complete. An empty object does not count: some servers send one before the
        arguments."""
        return _read_pieces([piece for _, piece in self.pieces]) not in ([], ["{}"])


class ToolCallReader:
    """Collects the deltas of a stream's tool calls. They are interpreted only at the end, because the same delta can be
    a repetition in one stream and a new call in another."""

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = frozenset(tools)
        self._calls: list[_Call] = []

    def feed(self, index: int | None, call_id: str | None, name: str | None, arguments: Any) -> None:
        name = name.strip() if isinstance(name, str) else ""
        call_id = call_id if isinstance(call_id, str) and call_id else None
        call = self._continued(index, call_id, name)
        if call is None:
            call = _Call(index)
            self._calls.append(call)
        if call_id and call_id not in call.ids:
            call.ids.append(call_id)
        if name:
            call.names.append(name)
        if arguments is not None and arguments != "":
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            call.pieces.append((call_id, text))

    def calls(self) -> list[ReadCall]:
        """Return the calls that have a name. If a call is repeated, it is returned once per index."""
        read = [(call.index, each) for call in self._calls if call.names for each in self._read(call)]
        return [*{(index, each.name, _plain(each.arguments)): each for index, each in reversed(read)}.values()][::-1]

    def _continued(self, index: int | None, call_id: str | None, name: str) -> _Call | None:
        """Return the call that a delta continues; None if the delta begins a new call."""
        here = [call for call in self._calls if index is None or call.index in (index, None)]
        known = next((call for call in reversed(here) if call_id in call.ids), None) if call_id else None
        if known:
            return None if self._is_another(known, name) else known
        if not here:
            if name:
                return None
            elsewhere = next((call for call in self._calls if call_id in call.ids), None) if call_id else None
            return elsewhere or (None if call_id or not self._calls else self._calls[-1])
        last = here[-1]
        if self._is_another(last, name):
            return None
        if call_id and last.ids and name:  # a new call, unless the server invents an id for each delta
            return None if last.is_whole else last
        return last

    def _is_another(self, call: _Call, name: str) -> bool:
        if not name or not call.names or name == call.names[-1]:
            return False
        if name.startswith(call.names[-1]) and not call.pieces:
            return False
        before = self._name(call.names)
        goes_on = any(tool.startswith("".join(call.names) + name) for tool in self._tools)
        return self._name([name]) != before and (before in self._tools or not goes_on)

    def _read(self, call: _Call) -> Iterator[ReadCall]:
        name, call_id = self._name(call.names), call.ids[0] if call.ids else None
        for place, (given, arguments) in enumerate(_arguments(call.pieces)):
            if arguments.lstrip().startswith('"') and (inner := _object_in(arguments)) is not None:
                arguments = json.dumps(inner, ensure_ascii=False)
            yield ReadCall(name, arguments, call_id if place == 0 else given)

    def _name(self, pieces: Sequence[str]) -> str:
        """Return the tool that a name refers to, even if the name comes in pieces, is repeated or grows; otherwise
        return the name as received."""
        distinct = [name for place, name in enumerate(pieces) if place == 0 or name != pieces[place - 1]]
        written = ["".join(pieces), "".join(distinct), pieces[-1], pieces[0]]
        for name in written:
            for meant in (name, _MARKUP.sub("", name), re.split(r"[.:/]", name)[-1]):
                if meant in self._tools:
                    return meant
        return written[1]


def _arguments(pieces: Sequence[tuple[str | None, str]]) -> list[tuple[str | None, str]]:
    """Return the arguments of each call in these pieces, with the call's id if it is not that of the first call."""
    if (read := _read_pieces([piece for _, piece in pieces])) and len(read) == 1:
        return [(None, read[0])]
    by_id: dict[str | None, list[str]] = {}
    for call_id, piece in pieces:
        by_id.setdefault(call_id, []).append(piece)
    each = [(call_id, text) for call_id, texts in by_id.items() for text in _read_pieces(texts) or [""]]
    if all(text for _, text in each):
        return _distinct(each)
    return [(None, text) for text in read] or [(None, well_formed("".join(piece for _, piece in pieces)))]


def _read_pieces(pieces: Sequence[str]) -> list[str]:
    """Return the JSON objects in these pieces, which may be consecutive parts, snapshots, or duplicates."""
    whole = well_formed("".join(pieces))
    if whole.strip() in ("", "null"):
        return ["{}"]
    if _object_in(whole) is not None:
        return [whole]
    snapshots = all(after.startswith(before) for before, after in pairwise(pieces))
    once = "".join(pieces[::2]) if pieces[::2] == pieces[1::2] else ""
    for text in (pieces[-1] if snapshots else "", once):
        if _object_in(text) is not None:
            return [well_formed(text)]
    return [text for _, text in _distinct([(None, text) for text in _objects(whole)])]


def _object_in(text: str) -> dict[str, Any] | None:
    """Parse a text, or a JSON string inside it, as an object; None if it is not one."""
    try:
        value = json.loads(text)
        value = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _plain(arguments: str) -> str:
    """Normalize arguments, so that equal arguments become equal texts."""
    read = _object_in(arguments)
    return arguments if read is None else json.dumps(read, sort_keys=True)


_BETWEEN_OBJECTS = re.compile(r"(?:\s|,|null\b|```(?:json)?)*")


def _objects(text: str) -> list[str]:
    """Return the complete JSON objects at the beginning of a text."""
    found: list[str] = []
    decoder, at = json.JSONDecoder(), 0
    while (between := _BETWEEN_OBJECTS.match(text, at)) and text.startswith("{", at := between.end()):
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        found.append(text[at:end])
        at = end
    return found


def _distinct(texts: Sequence[tuple[str | None, str]]) -> list[tuple[str | None, str]]:
    """Remove duplicates and, if anything else remains, empty objects, which some servers send before the arguments."""
    kept = {_plain(text): (call_id, text) for call_id, text in reversed(texts)}
    if len(kept) > 1:
        kept.pop("{}", None)
    return list(reversed(kept.values()))


# --- markup in the text -----------------------------------------------------------------------------------------------

_OPENS = r"(?:<|&lt;)\s*/?\s*"
_WORD = r"[A-Za-z_▁][\w▁ :.-]{0,60}"
_MARKUP = re.compile(
    rf"{_OPENS}[|｜]*｜"  # DeepSeek's bars, with which nothing else begins
    rf"|{_OPENS}\|+[A-Za-z_][\w▁.:-]{{0,60}}\||{_OPENS}\w+▁"
    rf"|(?:{_OPENS})?[|｜]+\s*DSML\s*[|｜]|｜\s*{_WORD}\s*｜>|｜\s*\w+▁"
    rf"|{_OPENS}(?:\w+:)?(?:tool|function)_?(?:call|result|response|output)\w*(?:[\s>]|&gt;)"
    rf"|{_OPENS}(?:\w+:)?(?:invoke|parameter)\s+name\s*=|{_OPENS}(?:function|parameter|invoke)\s*="
    r"|\[/?(?-i:TOOL_(?:CALLS?|RESULTS?))\]",
    re.IGNORECASE,
)
_THOUGHT = r"(?:\w+:)?(?:think|thinking|thoughts?|reasoning)\s*(?:>|&gt;)"
_BEGINS_THOUGHT = re.compile(rf"(?:<|&lt;)\s*{_THOUGHT}", re.IGNORECASE)
_ENDS_THOUGHT = re.compile(rf"(?:<|&lt;)\s*/\s*{_THOUGHT}", re.IGNORECASE)
_TAG = re.compile(rf"{_MARKUP.pattern}|{_BEGINS_THOUGHT.pattern}|{_ENDS_THOUGHT.pattern}", re.IGNORECASE)

_ENDS_ANSWER = re.compile(
    r"(?:(?:<|&lt;)\s*[|｜]+\s*(?:end[▁_]of[▁_]\w+|endoftext|im_end|eo[tm]_id)\s*[|｜]+\s*(?:>|&gt;)\s*)+",
    re.IGNORECASE,
)
"""If this follows text, the answer is complete and the markup is not meant as a call."""

LONGEST_TAG_CHARACTERS = 100
_BEGINNING = re.compile(
    r"&(?:lt?)?$"
    r"|(?:<|&lt;)\s*/?\s*(?:[|｜]+\s*[\w▁ :.-]*|[\w:▁]*\s*(?:n(?:a(?:m(?:e\s*)?)?)?)?|[\w:]+&(?:gt?)?)$"
    r"|\|\s*(?:D(?:S(?:M(?:L\s*)?)?)?)?$|｜\s*[\w▁ :.-]{0,60}｜?$"
    r"|\[/?(?-i:[A-Z_]{0,12})$",
    re.IGNORECASE,
)
"""Matches text at the end that may be the beginning of a tag."""
_CUT_TAG = re.compile(
    r"(?:<|&lt;)\s*/?\s*(?:[|｜]|(?:\w+:)?(?:thi|reaso|thou|tool_|func|invok|param))|[|｜]\s*DS|▁", re.IGNORECASE
)
"""Matches an answer that was cut off inside a tag."""


class VisibleText:
    """The visible text of an answer: thoughts are removed, and so are tool-call markup and everything after it.
    Surrogate pairs are joined. A possible tag is held back until it is complete."""

    def __init__(self) -> None:
        self._markup = ""
        """The first tag that is part of neither the text nor a thought, and the beginning of what follows it."""
        self._is_cut = False
        self._held = ""
        self._thinks = False
        self._began = False

    @property
    def has_markup(self) -> bool:
        """True if the model wrote a tool call or an unclosed thought as text; known at the end of the answer."""
        return self._is_cut or bool(self._markup and not _ENDS_ANSWER.fullmatch(self._markup))

    def feed(self, text: str) -> str:
        """Return the text that can be shown now."""
        if self._markup:
            self._markup += text[:LONGEST_TAG_CHARACTERS]
            return ""
        self._held += text
        shown = ""
        while tag := (_ENDS_THOUGHT if self._thinks else _TAG).search(self._held):
            if not self._thinks:
                shown += self._held[: tag.start()]
            if not self._thinks and _MARKUP.match(tag[0]):
                self._markup, self._held = self._held[tag.start() :], ""
                return self._visible_text(shown)
            self._held = self._held[tag.end() :]
            self._thinks = not self._thinks and bool(_BEGINS_THOUGHT.match(tag[0]))
        keep = _held_from(self._held)
        if not self._thinks:
            shown += self._held[:keep]
        self._held = self._held[keep:]
        return self._visible_text(shown)

    def end(self) -> str:
        """Return the remaining text at the end of the answer."""
        rest, self._held = self._held, ""
        if self._thinks or _CUT_TAG.match(rest):
            self._is_cut = True
            return ""
        return self._visible_text(rest)

    def _visible_text(self, text: str) -> str:
        if not self._began:  # after a thought, the text begins with empty lines
            text = text.lstrip()
            self._began = bool(text)
        return well_formed(text)


def _held_from(text: str) -> int:
    """Return where the text to hold back begins: a possible tag or half a surrogate pair."""
    start = max(0, len(text) - LONGEST_TAG_CHARACTERS)
    beginning = _BEGINNING.search(text, start)
    if beginning:
        return beginning.start()
    return len(text) - 1 if text and "\ud800" <= text[-1] <= "\udbff" else len(text)


# --- overridden methods -----------------------------------------------------------------------------------------------


UNAUTHORIZED = 401
RETRIED_REFUSALS = (408, 409, 429)
"""Statuses below 500 that are retried: the same request may succeed later."""
LONGEST_WAIT_SECONDS = 10.0
"""The longest time that a user waits for the first word."""


class PatchedCompletions(AsyncCompletions):
    async def create(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *, stream: bool, extra_headers: Any = None, extra_body: Any = None, timeout: Any = not_given, **body: Any
    ) -> Any:
        """Send the body unchanged. pydantic-ai already uses the API's field names, but the library would search each
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
    """Reads the key again, because a rejected key may have been rotated. The request is then sent once more. This does
    not count as an attempt, because the provider did not process the first one."""

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
            except httpx2.RequestError:  # the error page was truncated, but its status is enough
                await response.aclose()
                return httpx2.Response(response.status_code, headers=response.headers, request=request)
        return response

    def _should_retry(self, response: httpx2.Response) -> bool:
        # Check before the library does: it honors `x-should-retry: true` on any rejection, and waits for up to two
        # minutes.
        if response.status_code < 500 and response.status_code not in RETRIED_REFUSALS:
            return False
        wait = self._parse_retry_after_header(response.headers)
        if wait is not None and wait > self.longest_wait_seconds:
            return False
        return super()._should_retry(response)


class PatchedChatModel(OpenAIChatModel):
    """Reports JSON with an unexpected structure as a provider error, where the library would raise other exceptions."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._kept: dict[str, tuple[ToolDefinition, ToolDefinition]] = {}
        """By tool name: the tool's last definition, and the same definition in the provider's format."""

    def customize_request_parameters(self, model_request_parameters: ModelRequestParameters) -> ModelRequestParameters:
        """Transform each tool only once, because all requests contain the same tools, and tracing would transform them
        again."""
        tools, kept = model_request_parameters.function_tools, self._kept
        missing: list[ToolDefinition] = []
        for each in tools:
            before, _ = kept.get(each.name, (None, None))
            if (
                before is None
                or before.parameters_json_schema is not each.parameters_json_schema
                or before.strict != each.strict
            ):
                missing.append(each)
        made = super().customize_request_parameters(replace(model_request_parameters, function_tools=missing))
        for each, after in zip(missing, made.function_tools, strict=True):
            kept[each.name] = each, after
        transformed: list[ToolDefinition] = []
        for each in tools:
            _, after = kept[each.name]
            schema, strict = after.parameters_json_schema, after.strict
            transformed.append(replace(each, parameters_json_schema=schema, strict=strict))
        return replace(made, function_tools=transformed)

    def _note_lookalike_frames(
        self,
        authored: list[ModelMessage],  # noqa: ARG002
        messages: list[ModelMessage],
        *,
        announce: bool,  # noqa: ARG002
    ) -> tuple[list[ModelMessage], bool]:
        # Imitations of a frame are already quoted (`text.quoted`). The library's note about them would tell the model,
        # before the cached prefix, that such blocks are authoritative.
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
"""Key in a response's `provider_details`: the model wrote a tool call or an unclosed thought as text."""


class PatchedStreamedResponse(OpenAIStreamedResponse):
    """Yields text and tool calls as corrected by `VisibleText` and `ToolCallReader`; tool calls come at the end of the
    stream."""

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
        # DeepSeek's own value (api-docs.deepseek.com/api/create-chat-completion): it ran out of capacity midway.
        return "error" if key == "insufficient_system_resource" else super()._map_finish_reason(key)


@contextmanager
def _its_shape_trusted() -> Iterator[None]:
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise UnexpectedModelBehavior(f"The answer has no shape that we know: {type(error).__name__}") from error


# --- client -----------------------------------------------------------------------------------------------------------
# Create the HTTP client of every provider. Only this client retries requests.
#
# It retries once and honors Retry-After if the wait is short; if the wait is long, it fails immediately. Every library
# here retries by default, and retries multiply: two attempts in each of three layers are eight requests. When no user
# is waiting for an answer, state machines retry a whole state instead.


PROVIDER_ADDRESSES = {"deepseek": "https://api.deepseek.com", "openai": "https://api.openai.com/v1"}

Renew: TypeAlias = Callable[[], Awaitable[Settings]]
"""Reads the secrets again, and returns the settings that include them."""

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
    """Create a client for any OpenAI-compatible server. `key_needed_for` is the name of the variable that must contain
    the key; a server set by `model_base_url` may need none. `renewed_key` reads the key again after the server rejected
    it."""
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
