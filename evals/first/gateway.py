"""The only way to the providers during a run: it prices each request, and rejects requests that could exceed the
ceiling.

Before a request is sent, its highest possible price is added to the journal: each of its bytes as an input token, and
as many output tokens as it allows. Once it is answered, that is replaced by the price of the tokens that the provider
counted. So neither concurrent requests nor a killed process can exceed the ceiling.
"""

import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

import httpx2
import uvicorn
from pydantic_ai.usage import RequestUsage
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from evals.first.journal import Journal
from evals.first.recorded import Recorder
from evals.relay import SECONDS, Upstream, upstreams_of
from infra.local.ports import free_port
from qwestly_agent.base.settings import Settings
from qwestly_agent.llm.client import PROVIDER_ADDRESSES
from qwestly_agent.llm.embeddings import USD_A_MILLION_TOKENS
from qwestly_agent.llm.models import DEFAULT_MODELS, ceiling_price_of, has_plausible_counts
from tests.servers import wait_for_port

MOST_ANSWER_TOKENS = 8_000
"""Added to requests that set no limit."""
REFUSED = {"error": {"message": "The ceiling of this run is reached.", "code": "insufficient_quota"}}
Price = Callable[[bytes, bool], float]
"""Dollars of an answer; the flag is False if it was cut off."""


@dataclass
class Gateway:
    """A context manager. Serves until the end of the run; every request counts for the current step."""

    journal: Journal
    chat: Mapping[str, Upstream]
    model_ids: Mapping[str, str]
    """`provider:name` by name."""
    embeddings: Upstream | None
    moderations: Upstream | None
    recorder: Recorder
    step: str = ""
    ceiling_usd: float = 0.0
    until: float = float("inf")
    """By `time.monotonic()`; no request is sent later."""
    refused: int = 0
    """Number of requests that a ceiling did not allow."""
    failed: int = 0
    """Number of requests that the provider did not answer, or with an error."""
    port: int = field(default_factory=free_port)

    def __enter__(self) -> Self:
        routes = [
            Route("/v1/chat/completions", self._chat, methods=["POST"]),
            Route("/v1/embeddings", self._embeddings, methods=["POST"]),
            Route("/v1/moderations", self._moderations, methods=["POST"]),
        ]
        config = uvicorn.Config(Starlette(routes=routes), port=self.port, log_level="critical", access_log=False)
        config.timeout_graceful_shutdown = 1
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, name="gateway", daemon=True)
        self._thread.start()
        wait_for_port(self.port)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def variables(self) -> dict[str, str]:
        """The environment in which every request goes to this gateway, and no process has a key."""
        return {
            "MODEL_BASE_URL": self.base_url,
            "EMBEDDINGS_BASE_URL": self.base_url if self.embeddings else "",
            "MODERATION_BASE_URL": self.base_url if self.moderations else "off",
            "DEEPSEEK_API_KEY": "",
            "OPENAI_API_KEY": "",
        }

    async def _chat(self, request: Request) -> Response:
        body = json.loads(await request.body())
        upstream = self.chat.get(body.get("model", ""))
        if upstream is None:
            return JSONResponse({"error": {"message": f"No model {body.get('model')!r} is configured."}}, 404)
        if not (body.get("max_tokens") or body.get("max_completion_tokens")):
            body["max_tokens"] = MOST_ANSWER_TOKENS
        raw = json.dumps(body, ensure_ascii=False).encode()
        allowed = body.get("max_completion_tokens") or body["max_tokens"]
        model_id, begun = self.model_ids[body["model"]], time.time()

        def price(tokens_in: int, tokens_out: int, cached: int = 0, answered: str | None = None) -> float:
            usage = RequestUsage(input_tokens=tokens_in, output_tokens=tokens_out, cache_read_tokens=cached)
            return float(ceiling_price_of(model_id, answered, usage, begun))

        most = price(len(raw), allowed)

        def price_of_answer(answer: bytes, whole: bool) -> float:
            told, answered = _usage_in(answer)
            if told and has_plausible_counts(told):
                return price(told.input_tokens, told.output_tokens, told.cache_read_tokens, answered)
            return price(len(raw), min(allowed, len(answer))) if whole else most

        def note(answer: bytes) -> None:
            if body.get("stream"):
                self.recorder.add(body, answer)

        return await self._forward("chat/completions", raw, upstream, most, price_of_answer, note)

    async def _embeddings(self, request: Request) -> Response:
        raw = await request.body()
        most = len(raw) * USD_A_MILLION_TOKENS / 1e6

        def price(answer: bytes, whole: bool) -> float:
            tokens = json.loads(answer).get("usage", {}).get("total_tokens") if whole else None
            return most if tokens is None else min(most, tokens * USD_A_MILLION_TOKENS / 1e6)

        return await self._forward("embeddings", raw, self.embeddings, most, price)

    async def _moderations(self, request: Request) -> Response:
        return await self._forward("moderations", await request.body(), self.moderations, 0.0, lambda _, __: 0.0)

    async def _forward(
        self,
        path: str,
        raw: bytes,
        upstream: Upstream | None,
        most_usd: float,
        price: Price,
        note: Callable[[bytes], None] = lambda _: None,
    ) -> Response:
        if upstream is None:
            return JSONResponse({"error": {"message": f"No server for {path} is configured."}}, 404)
        number = None
        if time.monotonic() < self.until:
            number = self.journal.reserve(self.step, most_usd, self.ceiling_usd)
        if number is None:
            self.refused += 1
            return JSONResponse(REFUSED, 402)
        http = httpx2.AsyncClient(timeout=SECONDS)
        headers = {"Authorization": f"Bearer {upstream.key or 'none'}", "Content-Type": "application/json"}
        try:
            answer = await http.send(
                http.build_request("POST", f"{upstream.url}/{path}", content=raw, headers=headers), stream=True
            )
        except httpx2.HTTPError as error:
            self.failed += 1
            await http.aclose()
            if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
                self.journal.settle(number, 0.0)  # nothing was sent; otherwise it may have been billed
            return JSONResponse({"error": {"message": f"The provider was not reached: {type(error).__name__}."}}, 502)

        async def passed_on() -> AsyncIterator[bytes]:
            received, is_whole = b"", False
            try:
                async for chunk in answer.aiter_bytes():
                    received += chunk
                    yield chunk
                is_whole = True
            finally:
                # Before anything that may be cancelled.
                if answer.status_code != httpx2.codes.OK:
                    self.failed += 1
                    self.journal.settle(number, 0.0)
                else:
                    self.journal.settle(number, price(received, is_whole))
                    if is_whole:
                        note(received)
                await answer.aclose()
                await http.aclose()

        kept = {name: value for name in ("content-type", "retry-after") if (value := answer.headers.get(name))}
        return StreamingResponse(passed_on(), answer.status_code, headers=kept)


def _usage_in(answer: bytes) -> tuple[RequestUsage | None, str | None]:
    """Return the token counts and the model's name of an answer, streamed or not; None if it has none."""
    text = answer.decode("utf-8", "replace")
    lines = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")] or [text]
    told, model = None, None
    for line in lines:
        try:
            read = json.loads(line)
        except ValueError:
            continue
        if isinstance(read, dict):
            told, model = read.get("usage") or told, read.get("model") or model
    if not isinstance(told, dict):
        return None, model
    details = told.get("prompt_tokens_details") or {}
    cached = told.get("prompt_cache_hit_tokens") or details.get("cached_tokens") or 0
    counts = [told.get("prompt_tokens") or 0, told.get("completion_tokens") or 0, cached]
    if not all(isinstance(each, int) for each in counts):
        return None, model
    return RequestUsage(input_tokens=counts[0], output_tokens=counts[1], cache_read_tokens=counts[2]), model


def make_gateway(settings: Settings, journal: Journal, recorder: Recorder) -> Gateway:
    """Make the gateway to the servers that the settings name."""
    names = (settings.model_fast or DEFAULT_MODELS["fast"], settings.model_pro or DEFAULT_MODELS["pro"])
    named = {each.partition(":")[2]: each for each in (*names, settings.model_judge, settings.model_fallback) if each}
    theirs = Upstream(PROVIDER_ADDRESSES["openai"], settings.openai_api_key) if settings.openai_api_key else None
    embeddings, moderations = theirs, theirs
    if settings.embeddings_base_url:
        embeddings, moderations = Upstream(settings.embeddings_base_url.rstrip("/"), settings.openai_api_key), None
    if settings.moderation_base_url == "off":
        moderations = None
    elif settings.moderation_base_url:
        moderations = Upstream(settings.moderation_base_url.rstrip("/"), settings.openai_api_key)
    return Gateway(journal, upstreams_of(settings), named, embeddings, moderations, recorder)
