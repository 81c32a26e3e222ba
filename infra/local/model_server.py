"""The scripted model server: replaces DeepSeek and OpenAI at the network level, locally and in every test.

It answers chat completions, embeddings and moderations, with or without `/v1` before the path, rejects what the
providers reject (`model_wire.py`), records requests, and fails on request (`model_controls.py`, `model_faults.py`).
Answers come from the steps that a test scripted, otherwise from the intents in `intents/` (`model_answers.py`).
Embeddings are scripted from words, or, with `--embedding minilm`, come from a small real model, which then also finds
the intents.

In a test `with ModelServer() as server:` starts one on a free port. As a program, `python -m infra.local.model_server
--port 8001`; the same controls are then routes: GET and DELETE `/_control/requests`, and POST `/_control/script`
(`{"steps": [Reply, …]}`), `/_control/fault` (a Reply, or null), `/_control/embeddings_fault` (a status, or null),
`/_control/release` and `/_control/reset`.
"""

import argparse
import asyncio
import base64
import re
import signal
import socket
import struct
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from infra.local import model_faults as faults
from infra.local.intents import INTENTS, WORDS, IntentError, Meaning, by_meaning, load
from infra.local.model_answers import ToolCall, think
from infra.local.model_connection import Connection, Performance
from infra.local.model_controls import Controls
from infra.local.model_embedding import DIMENSIONS, embedding
from infra.local.model_faults import Reply
from infra.local.model_minilm import KEPT, MiniLM
from infra.local.model_wire import (
    CREATED,
    Answer,
    Json,
    PromptCache,
    chunks_of,
    compact,
    error_response,
    refusal,
    refused,
    unknown_model,
)

CHAT_MODELS = ("deepseek-flash", "deepseek-v4-flash", "deepseek-v4-pro")
EMBEDDING_MODELS = ("text-embedding-3-small",)
MODERATION_MODELS = ("omni-moderation-latest",)
MODERATED = (
    *("harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent", "self-harm"),
    *("self-harm/instructions", "self-harm/intent", "sexual", "sexual/minors", "violence", "violence/graphic"),
)
"""platform.openai.com/docs/guides/moderation"""
SERVED_AS: Mapping[str, str] = {"deepseek-v4-flash": "deepseek-flash"}
"""The names that responses report instead of the requested model: another model serves a retired name."""
MOST_TOKENS = 48
"""Maximum tokens of a text that the real embedding reads: one core takes 20 ms."""


class ModelServer(Controls):
    """A model server as a context manager. It can be restarted on the same port."""

    def __init__(
        self,
        *,
        port: int = 0,
        chunk_delay: float = 0.0,
        more_models: Sequence[str] = (),
        intents: Path = INTENTS,
        meaning: Meaning = WORDS,
    ) -> None:
        self.port = port
        """0 until `start` finds a free port."""
        self.intents = load(intents, meaning)
        self._chat_models = (*CHAT_MODELS, *more_models)
        self._chunk_delay = chunk_delay
        self._ids = 0
        super().__init__()

    def _forget(self) -> None:
        super()._forget()
        self._cache = PromptCache()
        self.served_as = SERVED_AS
        """The model names that responses report, by requested name."""

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
        """Serve in this thread until SIGINT or SIGTERM."""
        server, listener = self._listen()
        print(f"The scripted model server listens on {self.base_url}", flush=True)
        server.run([listener])

    def _listen(self) -> tuple["_Uvicorn", socket.socket]:
        # asyncio sets TCP_NODELAY only if the protocol is named; otherwise answers on a reused connection take 40 ms.
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
            self._app(), http=Connection, ws="none", lifespan="off", log_config=None, access_log=False
        )
        return _Uvicorn(config), listener

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    # Routes

    def _app(self) -> Starlette:
        routes = [
            Route("/healthz", self._healthz),
            Route("/_control/{name}", self.control, methods=["GET", "POST", "DELETE"]),
        ]
        for prefix in ("", "/v1"):
            routes += [
                Route(f"{prefix}/chat/completions", self._chat, methods=["POST"]),
                Route(f"{prefix}/embeddings", self._embeddings, methods=["POST"]),
                Route(f"{prefix}/moderations", self._moderations, methods=["POST"]),
                Route(f"{prefix}/models", self._models),
            ]
        return Starlette(routes=routes, exception_handlers={HTTPException: refused, ValidationError: refused})

    async def _healthz(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _models(self, request: Request) -> Response:
        await self.recorded(request)
        names = (name for name in (*self._chat_models, *EMBEDDING_MODELS) if name not in SERVED_AS)
        models = [{"id": name, "object": "model", "created": CREATED, "owned_by": "scripted"} for name in names]
        return JSONResponse({"object": "list", "data": models})

    async def _chat(self, request: Request) -> Response | Performance:
        body = await self.recorded(request)
        if not self.takes_key_of(request):
            return error_response(401, "This key is not valid.")
        if not isinstance(body, dict) or not _are_messages(body.get("messages")):
            return error_response(400, "The body must be a JSON object with `messages`.")
        if body.get("model") not in self._chat_models:
            return unknown_model(body.get("model"))
        if why := refusal(body):
            return error_response(400, why)
        reply = self.next_reply(body)
        return faults.refusal(reply) or Performance(
            steps=faults.steps(reply, body, lambda: self._answer(reply, body)),
            content_type=faults.content_type(reply, bool(body.get("stream"))),
            chunk_delay=self._chunk_delay if reply.chunk_delay is None else reply.chunk_delay,
            hold=self.hold,
        )

    def _answer(self, reply: Reply, body: Json) -> Answer:
        text, calls = reply.text, reply.tool_calls
        if text is None and not calls and not reply.deltas:
            thought = think(body, self.intents)
            text, calls = thought.text, thought.tool_calls
        chunks = text if isinstance(text, list) else chunks_of(text or "")
        chunks, calls, finish_reason = faults.with_content_faults(reply, chunks, [*calls], body)
        calls_on_wire = [self._on_wire(call, body) for call in calls]
        functions = [call["function"] for call in calls_on_wire]
        said = "".join([*chunks, *(function["name"] + function["arguments"] for function in functions)])
        return Answer(
            id=f"chatcmpl-{self._next_id()}",
            model=self.served_as.get(body["model"], body["model"]),
            chunks=chunks,
            calls=calls_on_wire,
            finish_reason=finish_reason,
            usage={**self._cache.usage(body, said), **(reply.usage or {})},
        )

    def _on_wire(self, call: ToolCall, body: Json) -> dict[str, Any]:
        arguments = call["arguments"]
        function = {"name": call["name"], "arguments": arguments if isinstance(arguments, str) else compact(arguments)}
        return {"id": call.get("id") or f"call_{self._next_id(body)}", "type": "function", "function": function}

    def _next_id(self, body: Json = None) -> int:
        """Return an id higher than all previous ones, including those of an earlier server's conversations."""
        calls = (call for message in (body or {}).get("messages", ()) for call in message.get("tool_calls") or ())
        known = [int(match[1]) for call in calls if (match := re.fullmatch(r"call_(\d{1,15})", str(call.get("id"))))]
        self._ids = max([self._ids, *known]) + 1
        return self._ids

    async def _embeddings(self, request: Request) -> Response:
        body = await self.recorded(request)
        if not self.takes_key_of(request):
            return error_response(401, "This key is not valid.")
        if self.embeddings_fault is not None:
            return error_response(self.embeddings_fault, f"The scripted fault {self.embeddings_fault}.")
        if isinstance(body, dict) and body.get("model") not in EMBEDDING_MODELS:
            return unknown_model(body.get("model"))
        given = body.get("input") if isinstance(body, dict) else None
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
            return error_response(400, "`input` must be a text or a list of texts, none of them empty.")
        dimensions = body.get("dimensions") or DIMENSIONS
        encode = _base64 if body.get("encoding_format") == "base64" else list
        if self.intents.meaning is WORDS:
            vectors = [embedding(text, dimensions) for text in texts]
        else:
            # In a thread: a job search has a hundred texts, and must not block the chat.
            meant = await asyncio.to_thread(self.intents.meaning.embed, texts)
            # Zeros at the end of a vector do not change its cosines.
            vectors = [[*vector, *([0.0] * (dimensions - len(vector)))] for vector in meant]
        data = [{"object": "embedding", "index": i, "embedding": encode(each)} for i, each in enumerate(vectors)]
        tokens = max(1, sum(map(len, texts)) // PromptCache.TOKEN_CHARACTERS)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return JSONResponse({"object": "list", "model": body.get("model"), "data": data, "usage": usage})

    async def _moderations(self, request: Request) -> Response:
        body = await self.recorded(request)
        if not self.takes_key_of(request):
            return error_response(401, "This key is not valid.")
        await asyncio.sleep(self.moderation_seconds)
        if self.moderation_fault is not None:
            return error_response(self.moderation_fault, f"The scripted fault {self.moderation_fault}.")
        if not isinstance(body, dict) or body.get("model") not in MODERATION_MODELS:
            return unknown_model(body.get("model") if isinstance(body, dict) else None)
        means_harm = any(each in str(body.get("input")) for each in self.in_danger)
        categories = dict.fromkeys(MODERATED, False) | {"self-harm": means_harm, "self-harm/intent": means_harm}
        result = {
            "flagged": means_harm,
            "categories": categories,
            "category_scores": {name: 0.97 if found else 0.01 for name, found in categories.items()},
            "category_applied_input_types": {name: ["text"] for name in categories},
        }
        return JSONResponse({"id": f"modr-{self._next_id()}", "model": body["model"], "results": [result]})


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Otherwise shutdown would wait for held answers; a provider that goes down does not finish its answers either.
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await super().shutdown(sockets)


def _are_messages(messages: Json) -> bool:
    return isinstance(messages, list) and bool(messages) and all(isinstance(message, dict) for message in messages)


def _base64(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m infra.local.model_server", description="The scripted model server."
    )
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--chunk-delay", type=float, default=0.02, help="seconds between the chunks of an answer")
    parser.add_argument("--model", action="append", default=[], help="the name of one more chat model; repeatable")
    parser.add_argument("--embedding", choices=("scripted", "minilm"), default="scripted")
    parser.add_argument("--prepare", action="store_true", help="only keep the vectors of the intents' examples")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        # uvicorn shuts down first, and then raises the signal again for the previous handler.
        signal.signal(number, lambda *_: sys.exit(0))
    try:
        real = MiniLM(MOST_TOKENS, KEPT) if options.embedding == "minilm" else None
        meaning = by_meaning(real.of) if real else WORDS
        server = ModelServer(
            port=options.port, chunk_delay=options.chunk_delay, more_models=options.model, meaning=meaning
        )
        # Before the first request: a new example takes some time once.
        server.intents.warm()
        if real:
            real.keep()
        if not options.prepare:
            server.run()
    except IntentError as error:
        sys.exit(f"The intents cannot be used: {error}")
    except (OSError, OverflowError) as error:
        sys.exit(f"The scripted model server cannot listen on port {options.port}: {error}.")


if __name__ == "__main__":
    main()
