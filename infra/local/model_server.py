"""The scripted model server: stands in for DeepSeek and OpenAI at their wire, on the laptop and in every test.

It answers chat completions and embeddings, with or without `/v1` before the path, records what it was sent, refuses
what the providers refuse (`_refusal`), and misbehaves when told to. What is said comes from the steps that a test gave
it, else from the scripts (`script.py`), else from `model_answers`.

In a test `with ModelServer() as server:` starts one on a free port. As a program, `python -m infra.local.model_server
--port 8001`; the same controls are then routes: GET and DELETE `/_control/requests`, and POST `/_control/script`
(`{"steps": [Reply, …]}`), `/_control/fault` (a Reply, or null), `/_control/embeddings_fault` (a status, or null),
`/_control/release` and `/_control/reset`.
"""

import argparse
import asyncio
import base64
import hashlib
import json
import re
import signal
import socket
import struct
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum, auto
from pathlib import Path
from typing import Any, Literal, TypeAlias

import uvicorn
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as validated_dataclass
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from typing_extensions import TypedDict
from uvicorn.protocols.http.h11_impl import H11Protocol

from infra.local.model_answers import Json, ToolCall, think
from infra.local.model_embedding import embedding
from infra.local.script import SCRIPTS, ScriptError, load

# --- what a script says -------------------------------------------------------------------------------------------

FaultStatus: TypeAlias = Literal[400, 401, 402, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504]
Fault: TypeAlias = (
    FaultStatus
    | Literal["content_risk", "refuse_body", "html", "bad_json", "slow", "reset"]
    | Literal["cut", "cut_mid_line", "half_utf8", "no_finish", "reset_midway", "stall", "error_in_stream"]
    | Literal["bad_json_line", "other_shape", "empty_choices", "huge_line", "other_lines"]
    | Literal["no_done", "length", "content_filter", "swapped_indices", "bad_tool_arguments", "unknown_tool"]
)
"""What goes wrong with an answer.

Instead of it: an error status; `content_risk` (DeepSeek's 400 for what it does not want to read); `refuse_body` (200
and nothing), `html` (200 and a page), `bad_json` (200 and half an object); `slow` (not a byte before the release);
`reset` (TCP reset).

After `fault_after` chunks of the content (where the answer is not streamed: after half of the body): `cut` (the
connection closes), `cut_mid_line`, `reset_midway` (TCP reset), `half_utf8` and `no_finish` (the response ends, whole as
HTTP, inside a character or before it says why), `stall` (waits for the release, then closes), `error_in_stream` (ends
with an error object); `bad_json_line`, `other_shape` (JSON that is no object), `empty_choices` and `huge_line` (one
line of 10 MB) stand between the chunks, and the rest follows. No fault, but rare: `other_lines`, all that server-sent
events may hold beside data, around every event.

In what it says: `no_done`; `length` and `content_filter` (ends there, and says why); `swapped_indices` (the deltas of
later tool calls come first), `bad_tool_arguments` (not JSON), `unknown_tool` (one that was not offered).
"""


@validated_dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Reply:
    """One answer to one chat request. Without text and tool calls the brain says what it would have said."""

    text: str | list[str] | None = None
    """A list is sent in exactly these chunks."""
    tool_calls: Sequence[ToolCall] = ()
    """Called after the text, in the same answer."""
    chunk_delay: float | None = None
    """Seconds before each chunk but the first; the server's own where it is None."""
    hold_after: int | None = None
    """Chunks of the content after which the answer waits for the release; 0 is before the first byte of the body."""
    finish_reason: str | None = None
    usage: Mapping[str, Json] | None = None
    """Replaces those fields of the counted usage."""
    fault: Fault | None = None
    fault_after: int = 1
    retry_after: float | None = None
    """Seconds, sent with an error status."""
    streams: bool | None = None
    """Only for a request that streams, as the chat's does, or only for one that does not, as a judge's."""
    to: str = ""
    """Only for a request whose instructions begin with this."""


class _Script(TypedDict):
    steps: list[Reply]


SCRIPT = TypeAdapter(_Script)
REPLY_OR_NONE = TypeAdapter[Reply | None](Reply | None)
STATUS_OR_NONE = TypeAdapter[FaultStatus | None](FaultStatus | None)

CHAT_MODELS = ("deepseek-flash", "deepseek-v4-flash", "deepseek-v4-pro")
EMBEDDING_MODELS = ("text-embedding-3-small",)
SERVED_AS: Mapping[str, str] = {"deepseek-v4-flash": "deepseek-flash"}
"""The name under which a model answers, where it is not the one that was asked: a retired name is served by another."""

HUGE_LINE_BYTES = 10_000_000
WORDS_A_CHUNK = 3
ARGUMENT_CHARACTERS_A_CHUNK = 24
RECORDED_REQUESTS = 2_000
DIMENSIONS = 1536
CREATED = 1_767_225_600
"""What the answers give as their time: there is no clock here."""


@dataclass(frozen=True)
class RecordedRequest:
    """A request as it came in; `order` counts from 1, and `json` is None where the body is not JSON."""

    order: int
    method: str
    path: str
    authorization: str | None
    body: bytes
    json: Json


# --- what is said -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Turn:
    """An answer, before it is put on the wire."""

    id: str
    model: str
    chunks: list[str]
    calls: list[dict[str, Any]]
    finish_reason: str
    usage: dict[str, Json]

    @property
    def header(self) -> dict[str, Json]:
        return {"id": self.id, "created": CREATED, "model": self.model}


def _chunks_of(text: str) -> list[str]:
    return re.findall(rf"\s*(?:\S+\s*){{1,{WORDS_A_CHUNK}}}", text)


def _with_model_fault(
    reply: Reply, chunks: list[str], calls: list[ToolCall], body: Json
) -> tuple[list[str], list[ToolCall]]:
    """What a model says that misbehaves in what it says."""
    if reply.fault in ("length", "content_filter"):
        return chunks[: reply.fault_after], []
    if reply.fault == "unknown_tool":
        return chunks, [{"name": "no_such_tool", "arguments": {}}]
    if reply.fault == "bad_tool_arguments":
        offered = [tool["function"]["name"] for tool in body.get("tools") or ()]
        names = [call["name"] for call in calls] or offered[:1]
        return chunks, [{"name": name, "arguments": '{"query": "unclo'} for name in names]
    return chunks, calls


def _finish_reason(reply: Reply, calls: Sequence[object]) -> str:
    if reply.fault in ("length", "content_filter"):
        return str(reply.fault)
    return reply.finish_reason or ("tool_calls" if calls else "stop")


class _PromptCache:
    """The prefixes that were sent before, in blocks of 64 tokens as providers keep them, for each model of its own."""

    TOKEN_CHARACTERS = 4
    BLOCK_TOKENS = 64

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def usage(self, body: Json, said: str) -> dict[str, Json]:
        prompt = _compact(body.get("tools") or []) + _compact(body["messages"])
        prompt_tokens = len(prompt) // self.TOKEN_CHARACTERS
        cached = self._cached_blocks(str(body.get("model")), prompt) * self.BLOCK_TOKENS
        completion_tokens = max(1, len(said) // self.TOKEN_CHARACTERS)
        return {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
            "prompt_tokens_details": {"cached_tokens": cached},
            "prompt_cache_hit_tokens": cached,
            "prompt_cache_miss_tokens": prompt_tokens - cached,
        }

    def _cached_blocks(self, model: str, prompt: str) -> int:
        size = self.TOKEN_CHARACTERS * self.BLOCK_TOKENS
        prefix, blocks = hashlib.blake2b(model.encode(), digest_size=16), []
        for start in range(0, len(prompt) - size + 1, size):
            prefix.update(prompt[start : start + size].encode("utf-8", "surrogatepass"))
            blocks.append(prefix.digest())
        cached = next((i for i, block in enumerate(blocks) if block not in self._seen), len(blocks))
        self._seen.update(blocks)
        return cached


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- how it goes over the wire ------------------------------------------------------------------------------------


class _Act(Enum):
    START = auto()
    PAUSE = auto()
    HOLD = auto()
    HANG_UP = auto()
    RESET = auto()


_Step: TypeAlias = bytes | _Act
_Group: TypeAlias = Sequence[_Step]


def _line(data: Json) -> bytes:
    return b"data: " + _compact(data).encode("utf-8", "surrogatepass") + b"\n\n"


def _chunk(turn: _Turn, delta: Json, finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return _line({**turn.header, "object": "chat.completion.chunk", "choices": [choice]})


def _content(turn: _Turn, swapped: bool) -> list[bytes]:
    """The chunks of the text, then those of each tool call, a call's arguments in pieces."""
    lines = [_chunk(turn, {"content": text}) for text in turn.chunks]
    calls = list(enumerate(turn.calls))
    for index, call in reversed(calls) if swapped else calls:
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        opening = {"index": index, "id": call["id"], "type": "function", "function": {"name": name, "arguments": ""}}
        lines.append(_chunk(turn, {"tool_calls": [opening]}))
        for start in range(0, len(arguments), ARGUMENT_CHARACTERS_A_CHUNK):
            piece = arguments[start : start + ARGUMENT_CHARACTERS_A_CHUNK]
            lines.append(_chunk(turn, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    return lines


def _streamed(reply: Reply, turn: _Turn, include_usage: bool) -> list[_Step]:
    opening = _chunk(turn, {"role": "assistant", "content": ""})
    lines = _content(turn, swapped=reply.fault == "swapped_indices")
    content: list[_Group] = [[_Act.PAUSE, line] if i else [line] for i, line in enumerate(lines)]
    closing = [_chunk(turn, {}, turn.finish_reason)]
    if include_usage:
        closing.append(_line({**turn.header, "object": "chat.completion.chunk", "choices": [], "usage": turn.usage}))
    if reply.fault != "no_done":
        closing.append(b"data: [DONE]\n\n")

    at = min(reply.fault_after, len(content))
    before: list[_Group] = content[:at]
    after: list[_Group] = [*content[at:], closing]
    next_line = next(step for step in after[0] if isinstance(step, bytes))
    match reply.fault:
        case "cut":
            after = [[_Act.HANG_UP]]
        case "cut_mid_line":
            after = [[next_line[: len(next_line) // 2], _Act.HANG_UP]]
        case "half_utf8":
            after = [[_chunk(turn, {"content": "caf"}).partition(b'caf"')[0] + "café".encode()[:-1]]]
        case "no_finish":
            after = [[b""]]
        case "reset_midway":
            after = [[_Act.RESET]]
        case "stall":
            after = [[_Act.HOLD, _Act.HANG_UP]]
        case "error_in_stream":
            after = [[_line(_error(500, "The model failed in the middle of its answer."))]]
        case "bad_json_line":
            after = [[b'data: {"choices": [{"index": 0, "delta"\n\n'], *after]
        case "other_shape":
            after = [[_line(42)], *after]
        case "empty_choices":
            after = [[_line({**turn.header, "object": "chat.completion.chunk", "choices": []})], *after]
        case "huge_line":
            after = [[_chunk(turn, {"content": "x" * HUGE_LINE_BYTES})], *after]
    steps = _held([opening], [*before, *after], reply.hold_after)
    if reply.fault == "other_lines":
        steps = [OTHER_LINES + step if isinstance(step, bytes) else step for step in steps]
    return [_Act.START, *steps]


OTHER_LINES = b"retry: 3000\n\n: still here\n\nid: 7\n\nevent: ping\n\ndata:\n\n\nid: 8\nevent: completion\n"
"""Events that say nothing, and the lines with which the next one begins."""


def _whole(reply: Reply, turn: _Turn) -> list[_Step]:
    text = "".join(turn.chunks)
    if reply.fault == "huge_line":
        text += "x" * HUGE_LINE_BYTES
    calls = turn.calls[::-1] if reply.fault == "swapped_indices" else turn.calls
    finish_reason = None if reply.fault == "no_finish" else turn.finish_reason
    message = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}
    choices = [] if reply.fault == "empty_choices" else [choice]
    answer = {**turn.header, "object": "chat.completion", "choices": choices, "usage": turn.usage}
    instead: dict[Fault | None, Json] = {"error_in_stream": _error(500, "The model failed."), "other_shape": 42}
    body = _compact(instead.get(reply.fault, answer)).encode()
    half: _Group = [body[: len(body) // 2]]
    rest: _Group = [body[len(body) // 2 :]]
    match reply.fault:
        case "cut" | "cut_mid_line":
            rest = [_Act.HANG_UP]
        case "reset_midway":
            rest = [_Act.RESET]
        case "half_utf8":
            rest = ["é".encode()[:-1]]
        case "stall":
            rest = [_Act.HOLD, _Act.HANG_UP]
        case "bad_json_line":
            rest = []
    return [_Act.START, *_held([], [half, rest], reply.hold_after)]


def _held(opening: Sequence[_Step], content: Sequence[_Group], hold_after: int | None) -> list[_Step]:
    """The steps in one list, with the hold after so many groups of the content."""
    groups = [list(group) for group in content]
    if hold_after:
        groups[min(hold_after, len(groups) - 1) - 1].append(_Act.HOLD)
    start: list[_Step] = [_Act.HOLD] if hold_after == 0 else []
    return [*start, *opening, *(step for group in groups for step in group)]


ERROR_TYPES = {
    401: ("authentication_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}


def _error(status: int, message: str, code: str | None = None) -> dict[str, Json]:
    """OpenAI's one error shape."""
    kind, usual = ERROR_TYPES.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    code = code or usual
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _error_response(status: int, message: str, retry_after: float | None = None) -> Response:
    headers = {"retry-after": f"{retry_after:g}"} if retry_after is not None else None
    return JSONResponse(_error(status, message), status, headers)


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error_response(error.status_code, error.detail)


# --- what the providers refuse ------------------------------------------------------------------------------------


def _unknown_model(name: Json) -> tuple[int, dict[str, Json]]:
    """As the provider of such a name says it: DeepSeek's 400, or OpenAI's 404."""
    if _is_deepseek(name):
        return 400, _error(400, "Model Not Exist", "invalid_request_error")
    return 404, _error(404, f"The model `{name}` does not exist or you do not have access to it.")


def _refusal(body: dict[str, Json]) -> str | None:
    """Why a provider refuses a request to a model that it knows; None where it does not."""
    deepseek = _is_deepseek(body.get("model"))
    if "thinking" in body and not deepseek:
        return "Unrecognized request argument supplied: thinking"
    choice = body.get("tool_choice")
    if choice in (None, "auto", "none"):
        return None
    if deepseek and body.get("thinking") != {"type": "disabled"}:  # models think unless told so
        return "Thinking mode does not support this tool_choice"
    offered = {tool["function"]["name"] for tool in body.get("tools") or ()}
    if not offered:
        return "When using `tool_choice`, `tools` must be set."
    match choice:
        case "required":
            return None
        case {"type": "function", "function": {"name": name}} if name in offered:
            return None
        case {"type": "function", "function": {"name": name}}:
            return f"Tool choice '{name}' not found in 'tools' parameter."
        case _:
            return f"Invalid value: {_compact(choice)} is no `tool_choice`."


def _is_deepseek(model: Json) -> bool:
    return str(model).startswith("deepseek")


# --- how it is played ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Performance:
    """An ASGI response that can wait, hang up and reset, and that ends as soon as the client goes away."""

    steps: Iterable[_Step]
    content_type: str
    chunk_delay: float
    hold: Callable[[], Awaitable[None]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        transport: asyncio.Transport = scope["state"]["transport"]
        async with asyncio.TaskGroup() as tasks:
            playing = tasks.create_task(self._play(transport, send))
            gone = tasks.create_task(_client_gone(receive))
            await asyncio.wait([playing, gone], return_when=asyncio.FIRST_COMPLETED)
            playing.cancel()
            gone.cancel()

    async def _play(self, transport: asyncio.Transport, send: Send) -> None:
        for step in self.steps:
            match step:
                case bytes():
                    await send({"type": "http.response.body", "body": step, "more_body": True})
                case _Act.START:
                    headers = [(b"content-type", self.content_type.encode()), (b"cache-control", b"no-cache")]
                    await send({"type": "http.response.start", "status": 200, "headers": headers})
                case _Act.PAUSE:
                    await asyncio.sleep(self.chunk_delay)
                case _Act.HOLD:
                    await self.hold()
                case _Act.HANG_UP | _Act.RESET:
                    _hang_up(transport, reset=step is _Act.RESET)
                    # The lost connection ends this task.
                    await asyncio.Event().wait()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _hang_up(transport: asyncio.Transport, reset: bool) -> None:
    if not reset:
        transport.close()
        return
    # A linger of no seconds makes the kernel answer with RST instead of FIN.
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


async def _client_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class _Connection(H11Protocol):
    """Gives the application the socket, as `request.state.transport`: ASGI itself has no word for hanging up."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {"transport": transport}


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # What is held would be waited for otherwise; a provider that goes down does not finish its sentences either.
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await super().shutdown(sockets)


# --- the server ---------------------------------------------------------------------------------------------------


class ModelServer:
    """A model server of one's own, as a context manager. It can be started again, on the same port."""

    def __init__(
        self,
        *,
        port: int = 0,
        chunk_delay: float = 0.0,
        more_models: Sequence[str] = (),
        scripts: Path = SCRIPTS,
    ) -> None:
        self.port = port
        """0 until the start finds a free one."""
        self._scripts = load(scripts)
        self._chat_models = (*CHAT_MODELS, *more_models)
        self._chunk_delay = chunk_delay
        self._changed = threading.Condition()
        self._held: set[asyncio.Future[None]] = set()
        self._ids = 0
        self._forget()

    def _forget(self) -> None:
        self._requests: deque[RecordedRequest] = deque(maxlen=RECORDED_REQUESTS)
        self._arrived = 0
        self._script: deque[Reply] = deque()
        self._cache = _PromptCache()
        self.served_as = SERVED_AS
        """The names under which models answer, by the names that are asked."""
        self.fault: Reply | None = None
        """Answers every chat request until it is cleared; the script waits meanwhile."""
        self.embeddings_fault: FaultStatus | None = None
        """The status that every embeddings request gets until it is cleared."""

    # Starting and stopping

    def __enter__(self) -> "ModelServer":
        self._uvicorn, listener = self._listen()
        self._thread = threading.Thread(target=self._uvicorn.run, args=([listener],), name="model server", daemon=True)
        self._thread.start()
        if not self._uvicorn.ready.wait(timeout=10):
            raise TimeoutError("The model server did not start.")
        return self

    def __exit__(self, *_: object) -> None:
        self._uvicorn.should_exit = True
        self._thread.join(timeout=10)
        if self._thread.is_alive():
            raise TimeoutError("The model server did not stop.")

    def run(self) -> None:
        """Serves in this thread, until SIGINT or SIGTERM."""
        server, listener = self._listen()
        print(f"The scripted model server listens on {self.base_url}", flush=True)
        server.run([listener])

    def _listen(self) -> tuple[_Uvicorn, socket.socket]:
        # asyncio sets TCP_NODELAY only where the protocol is named; without it answers on a used connection take 40 ms.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", self.port))
            listener.listen()
        except (OSError, OverflowError):
            listener.close()
            raise
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._app(), http=_Connection, ws="none", lifespan="off", log_config=None, access_log=False
        )
        return _Uvicorn(config), listener

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    # What tests say and ask

    @property
    def requests(self) -> list[RecordedRequest]:
        """What came in on the providers' routes, oldest first: the last 2,000."""
        with self._changed:
            return list(self._requests)

    def forget_requests(self) -> None:
        with self._changed:
            self._requests.clear()
            self._arrived = 0

    def script(self, *steps: Reply) -> None:
        """Answers the next chat requests with these, in their order, instead of what was scripted before."""
        with self._changed:
            self._script = deque(steps)

    def script_chat(self, *steps: Reply) -> None:
        """The same for the next chat requests that stream: what a tool asks another model is answered as always."""
        self.script(*(replace(step, streams=True) for step in steps))

    def release(self) -> int:
        """Lets go on what is held now; says how many answers that were."""
        with self._changed:
            held, self._held = self._held, set()
        for future in held:
            future.get_loop().call_soon_threadsafe(_let_go, future)
        return len(held)

    def reset(self) -> None:
        """As after the start, but for the ids, which never repeat."""
        with self._changed:
            self._forget()
        self.release()

    def wait_for_requests(self, count: int, timeout: float = 5.0) -> list[RecordedRequest]:
        """The requests, once so many have come in since the start or the last reset; raises `TimeoutError`."""
        self._wait(lambda: self._arrived >= count, timeout, lambda: f"{self._arrived} of {count} requests came in")
        return self.requests

    def wait_until_held(self, timeout: float = 5.0, count: int = 1) -> None:
        """Returns once so many answers are held; raises `TimeoutError`."""
        self._wait(lambda: len(self._held) >= count, timeout, lambda: f"{len(self._held)} of {count} answers are held")

    def wait_until_none_held(self, timeout: float = 5.0) -> None:
        """Returns once nothing is held, because it was released or its client went away; raises `TimeoutError`."""
        self._wait(lambda: not self._held, timeout, lambda: f"{len(self._held)} answers are still held")

    def _wait(self, condition: Callable[[], bool], timeout: float, state: Callable[[], str]) -> None:
        with self._changed:
            if not self._changed.wait_for(condition, timeout):
                raise TimeoutError(f"{state()} after {timeout:g} s.")

    # Routes

    def _app(self) -> Starlette:
        routes = [Route("/healthz", self._healthz)]
        for prefix in ("", "/v1"):
            routes += [
                Route(f"{prefix}/chat/completions", self._chat, methods=["POST"]),
                Route(f"{prefix}/embeddings", self._embeddings, methods=["POST"]),
                Route(f"{prefix}/models", self._models),
            ]
        routes += [
            Route("/_control/requests", self._control_requests, methods=["GET", "DELETE"]),
            Route("/_control/script", self._control_script, methods=["POST"]),
            Route("/_control/fault", self._control_fault, methods=["POST"]),
            Route("/_control/embeddings_fault", self._control_embeddings_fault, methods=["POST"]),
            Route("/_control/release", self._control_release, methods=["POST"]),
            Route("/_control/reset", self._control_reset, methods=["POST"]),
        ]
        return Starlette(
            routes=routes, exception_handlers={HTTPException: _http_error, ValidationError: _refused_control}
        )

    async def _healthz(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _models(self, request: Request) -> Response:
        await self._record(request)
        names = (name for name in (*self._chat_models, *EMBEDDING_MODELS) if name not in SERVED_AS)
        models = [{"id": name, "object": "model", "created": CREATED, "owned_by": "scripted"} for name in names]
        return JSONResponse({"object": "list", "data": models})

    async def _chat(self, request: Request) -> Response | _Performance:
        body = await self._record(request)
        if not isinstance(body, dict) or not _are_messages(body.get("messages")):
            return _error_response(400, "The body must be a JSON object with `messages`.")
        if body.get("model") not in self._chat_models:
            status, error = _unknown_model(body.get("model"))
            return JSONResponse(error, status)
        if refusal := _refusal(body):
            return _error_response(400, refusal)
        with self._changed:
            reply = self.fault or self._next_step(body)
        if reply.fault == "content_risk":
            return JSONResponse(_error(400, "Content Exists Risk", "invalid_request_error"), 400)
        if isinstance(reply.fault, int):
            return _error_response(reply.fault, f"The scripted fault {reply.fault}.", reply.retry_after)
        streams = bool(body.get("stream"))
        return _Performance(
            steps=self._steps(reply, body, streams),
            content_type=_content_type(reply, streams),
            chunk_delay=self._chunk_delay if reply.chunk_delay is None else reply.chunk_delay,
            hold=self._hold,
        )

    def _next_step(self, body: dict[str, Json]) -> Reply:
        asked = str(body["messages"][0].get("content")) if body["messages"] else ""
        for step in self._script:
            if step.streams in (None, bool(body.get("stream"))) and asked.startswith(step.to):
                self._script.remove(step)
                return step
        return Reply()

    def _steps(self, reply: Reply, body: Json, streams: bool) -> list[_Step]:
        match reply.fault:
            case "refuse_body":
                return [_Act.START]
            case "html":
                return [_Act.START, b"<!doctype html><title>Bad gateway</title><h1>Please try again later</h1>"]
            case "bad_json":
                return [_Act.START, b'{"id": "chatcmpl-0", "choices": [']
            case "reset":
                return [_Act.RESET]
        turn = self._turn(reply, body)
        include_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        steps = _streamed(reply, turn, include_usage) if streams else _whole(reply, turn)
        return [_Act.HOLD, *steps] if reply.fault == "slow" else steps

    def _turn(self, reply: Reply, body: Json) -> _Turn:
        text, calls = reply.text, list(reply.tool_calls)
        if text is None and not calls:
            thought = think(body, self._scripts)
            text, calls = thought.text, list(thought.tool_calls)
        chunks = text if isinstance(text, list) else _chunks_of(text or "")
        chunks, calls = _with_model_fault(reply, chunks, calls, body)
        calls_on_wire = [self._on_wire(call, body) for call in calls]
        functions = [call["function"] for call in calls_on_wire]
        said = "".join([*chunks, *(function["name"] + function["arguments"] for function in functions)])
        return _Turn(
            id=f"chatcmpl-{self._next_id()}",
            model=self.served_as.get(body["model"], body["model"]),
            chunks=chunks,
            calls=calls_on_wire,
            finish_reason=_finish_reason(reply, calls),
            usage={**self._cache.usage(body, said), **(reply.usage or {})},
        )

    def _on_wire(self, call: ToolCall, body: Json) -> dict[str, Any]:
        arguments = call["arguments"]
        function = {"name": call["name"], "arguments": arguments if isinstance(arguments, str) else _compact(arguments)}
        return {"id": call.get("id") or f"call_{self._next_id(body)}", "type": "function", "function": function}

    def _next_id(self, body: Json = None) -> int:
        """Higher than any before, also than those in a conversation that an earlier server began."""
        calls = (call for message in (body or {}).get("messages", ()) for call in message.get("tool_calls") or ())
        known = [int(match[1]) for call in calls if (match := re.fullmatch(r"call_(\d{1,15})", str(call.get("id"))))]
        self._ids = max([self._ids, *known]) + 1
        return self._ids

    async def _embeddings(self, request: Request) -> Response:
        body = await self._record(request)
        if self.embeddings_fault is not None:
            return _error_response(self.embeddings_fault, f"The scripted fault {self.embeddings_fault}.")
        if isinstance(body, dict) and body.get("model") not in EMBEDDING_MODELS:
            status, error = _unknown_model(body.get("model"))
            return JSONResponse(error, status)
        given = body.get("input") if isinstance(body, dict) else None
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
            return _error_response(400, "`input` must be a text or a list of texts, none of them empty.")
        dimensions = body.get("dimensions") or DIMENSIONS
        encode = _base64 if body.get("encoding_format") == "base64" else list
        vectors = [encode(embedding(text, dimensions)) for text in texts]
        data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
        tokens = max(1, sum(map(len, texts)) // _PromptCache.TOKEN_CHARACTERS)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return JSONResponse({"object": "list", "model": body.get("model"), "data": data, "usage": usage})

    async def _record(self, request: Request) -> Json:
        """The body as JSON, None where it is none."""
        raw = await request.body()
        parsed = _parsed(raw)
        with self._changed:
            self._arrived += 1
            authorization = request.headers.get("authorization")
            self._requests.append(
                RecordedRequest(self._arrived, request.method, request.url.path, authorization, raw, parsed)
            )
            self._changed.notify_all()
        return parsed

    async def _hold(self) -> None:
        future = asyncio.get_running_loop().create_future()
        with self._changed:
            self._held.add(future)
            self._changed.notify_all()
        try:
            await future
        finally:
            with self._changed:
                self._held.discard(future)
                self._changed.notify_all()

    # The same over HTTP

    async def _control_requests(self, request: Request) -> Response:
        if request.method == "DELETE":
            self.forget_requests()
            return JSONResponse({"status": "ok"})
        return JSONResponse([{**asdict(r), "body": r.body.decode("utf-8", "replace")} for r in self.requests])

    async def _control_script(self, request: Request) -> Response:
        self.script(*SCRIPT.validate_json(await request.body())["steps"])
        return JSONResponse({"status": "ok"})

    async def _control_fault(self, request: Request) -> Response:
        self.fault = REPLY_OR_NONE.validate_json(await request.body())
        return JSONResponse({"status": "ok"})

    async def _control_embeddings_fault(self, request: Request) -> Response:
        self.embeddings_fault = STATUS_OR_NONE.validate_json(await request.body())
        return JSONResponse({"status": "ok"})

    async def _control_release(self, _: Request) -> Response:
        return JSONResponse({"released": self.release()})

    async def _control_reset(self, _: Request) -> Response:
        self.reset()
        return JSONResponse({"status": "ok"})


async def _refused_control(_: Request, error: Exception) -> Response:
    return _error_response(400, str(error))


def _content_type(reply: Reply, streams: bool) -> str:
    if reply.fault == "html":
        return "text/html; charset=utf-8"
    return "text/event-stream; charset=utf-8" if streams and reply.fault != "bad_json" else "application/json"


def _are_messages(messages: Json) -> bool:
    return isinstance(messages, list) and bool(messages) and all(isinstance(message, dict) for message in messages)


def _parsed(raw: bytes) -> Json:
    try:
        return json.loads(raw)
    except ValueError:
        return None


def _base64(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _let_go(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m infra.local.model_server", description="The scripted model server."
    )
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--chunk-delay", type=float, default=0.02, help="seconds between the chunks of an answer")
    parser.add_argument("--model", action="append", default=[], help="the name of one more chat model; repeatable")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        # uvicorn closes everything first, and then raises the signal again for whoever handled it before.
        signal.signal(number, lambda *_: sys.exit(0))
    try:
        ModelServer(port=options.port, chunk_delay=options.chunk_delay, more_models=options.model).run()
    except ScriptError as error:
        sys.exit(f"A script cannot be played: {error}")
    except (OSError, OverflowError) as error:
        sys.exit(f"The scripted model server cannot listen on port {options.port}: {error}.")


if __name__ == "__main__":
    main()
