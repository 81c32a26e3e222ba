"""One origin for the browser: the page, the widget, and what the function URL serves.

Towards the chat function it is what the function URL and the Lambda Web Adapter are together: it answers CORS as
template.yaml says, tells the function its request id and deadline, and passes bytes on as they come.
"""

import argparse
import json
import os
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from infra.local.environment import DEMO_USER, ROOT, Template
from infra.local.serving import serve

PAGE = ROOT / "infra" / "local" / "page"
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "host", "content-length"}
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'",
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True)
class Front:
    chat_url: str
    candidate_app_url: str
    status: dict[str, Any] = field(default_factory=dict)
    timeout_seconds: int = 300

    async def page(self, request: Request) -> Response:
        return FileResponse(PAGE / "index.html", headers=PAGE_HEADERS)

    async def script(self, request: Request) -> Response:
        return FileResponse(PAGE / "page.js", headers=PAGE_HEADERS)

    async def show_status(self, request: Request) -> Response:
        return JSONResponse({"user": DEMO_USER, "notes": [], **self.status})

    async def token(self, request: Request) -> Response:
        """What the candidate app's own page does for its signed-in user."""
        client: httpx2.AsyncClient = request.state.client
        try:
            minted = await client.get(f"{self.candidate_app_url}/api/agent/token", params=dict(request.query_params))
        except httpx2.TransportError:
            return _gone("The candidate app cannot be reached.")
        return Response(minted.content, minted.status_code, {"Cache-Control": "no-store"}, "application/json")

    async def function_url(self, request: Request) -> Response:
        """The chat function, as its URL answers."""
        client: httpx2.AsyncClient = request.state.client
        url = httpx2.URL(self.chat_url).join(request.url.path).copy_with(query=request.url.query.encode())
        passed = client.build_request(
            request.method, url, headers=self._headers(request), content=await request.body(), timeout=None
        )
        try:
            answer = await client.send(passed, stream=True)
        except httpx2.TransportError:
            return _gone("The chat function cannot be reached.")
        headers = {name: value for name, value in answer.headers.items() if name.lower() not in HOP_BY_HOP}
        return StreamingResponse(
            _bytes_of(answer), answer.status_code, headers, background=BackgroundTask(answer.aclose)
        )

    def _headers(self, request: Request) -> dict[str, str]:
        request_id = str(uuid.uuid4())
        deadline = int((time.time() + self.timeout_seconds) * 1000)
        return {
            **{name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP},
            "x-amzn-request-context": json.dumps({"requestId": request_id}),
            "x-amzn-lambda-context": json.dumps({"request_id": request_id, "deadline": deadline}),
        }


async def _bytes_of(answer: httpx2.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_raw():
            yield chunk
    except httpx2.TransportError:
        return  # the function died: what came so far is all that a client of the URL would get, too


def _gone(sentence: str) -> Response:
    error = {"code": "unavailable", "message": sentence, "request_id": str(uuid.uuid4())}
    return JSONResponse({"error": error}, 502)


@asynccontextmanager
async def _client(app: Starlette) -> AsyncIterator[dict[str, httpx2.AsyncClient]]:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=50)
    async with httpx2.AsyncClient(limits=limits, timeout=10) as client:
        yield {"client": client}


def create_app(front: Front, cors: dict[str, Any], origins: list[str]) -> Starlette:
    """`cors` is the block of the function URL in template.yaml; `origins` are those it allows."""
    answers_cors = Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=cors["AllowMethods"],
        allow_headers=cors["AllowHeaders"],
        expose_headers=cors["ExposeHeaders"],
        max_age=cors["MaxAge"],
    )
    everything = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    return Starlette(
        routes=[
            Route("/", front.page),
            Route("/local/status", front.show_status),
            Route("/local/token", front.token),
            Route("/healthz", front.function_url, methods=everything),
            Route("/api/{path:path}", front.function_url, methods=everything),
            Mount("/widget", StaticFiles(directory=ROOT / "widget")),
            Route("/page.js", front.script),
        ],
        # A page elsewhere whose name is made to point here must not be handed anybody's token.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"]), answers_cors],
        lifespan=_client,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, default=8000)
    arguments.add_argument("--chat-url", required=True)
    arguments.add_argument("--candidate-app-url", required=True)
    arguments.add_argument("--status", type=json.loads, default={})
    given = arguments.parse_args()
    template = Template.load()
    origins = os.environ.get("ALLOWED_ORIGINS", str(template.parameters["AllowedOrigins"])).split(",")
    front = Front(given.chat_url, given.candidate_app_url, given.status, template.timeout("ChatFunction"))
    serve(create_app(front, dict(template.cors("ChatFunction")), origins), given.port)


if __name__ == "__main__":
    main()
