"""One origin for the browser: the page, the widget, and the routes of the function URLs.

For the chat it does what CloudFront, the two function URLs and the Lambda Web Adapter do together: it answers CORS as
configured in template.yaml, routes turns to one function and everything else to the other, rejects what Lambda rejects,
adds request id and deadline, and streams bytes as they arrive. One process stands for both functions. For the approve
function it is a function URL without the adapter: one event, one answer.
"""

import argparse
import asyncio
import json
import os
import re
import uuid
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from html import escape
from typing import Any

import httpx2
from botocore.exceptions import BotoCoreError, ClientError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from infra.local import aws_function_url
from infra.local.aws_limits import Refused, Slots, UrlLimits, account_concurrency, slots_of
from infra.local.environment import API, CHAT, DEMO_USER, ROOT, Template
from infra.local.graphs import graphs
from infra.local.serving import serve
from qwestly_agent.base.clock import system_clock
from qwestly_agent.base.errors import NotFound, WrongMethod

PAGE = ROOT / "infra" / "local" / "page"
HOP_BY_HOP = {b"connection", b"keep-alive", b"transfer-encoding", b"host", b"content-length"}
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'",
    "Cache-Control": "no-cache",
}
MAIL_HEADERS = {
    # A mail is untrusted: no scripts, no loaded resources, links open in new tabs.
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; frame-ancestors 'self'; "
        "sandbox allow-popups allow-popups-to-escape-sandbox"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}
APPROVE = "ApprovePagesFunction"
TURNS = "/api/chat"
"""CloudFront sends this path and those below it to the turns' URL, everything else to the other one."""
INVOCATIONS = ThreadPoolExecutor(1_000, thread_name_prefix="invocation")
"""More threads than concurrent invocations. They are started on demand."""


@dataclass(frozen=True)
class UrlFunction:
    """A function behind a streaming URL."""

    name: str
    timeout_seconds: int


@dataclass(frozen=True)
class Front:
    chat_url: str
    """Address of the process that stands for both functions."""
    candidate_app_url: str
    status: dict[str, Any] = field(default_factory=dict)
    turns: UrlFunction = UrlFunction("chat", 300)
    others: UrlFunction = UrlFunction("api", 60)
    limits: UrlLimits = field(default_factory=lambda: UrlLimits(Slots()))
    aws_url: str = ""
    approve_function: str = ""
    """Name of the function; empty if template.yaml has none."""

    async def page(self, request: Request) -> Response:
        return FileResponse(PAGE / "index.html", headers=PAGE_HEADERS)

    async def script(self, request: Request) -> Response:
        return FileResponse(PAGE / "page.js", headers=PAGE_HEADERS)

    async def graphs_script(self, request: Request) -> Response:
        return FileResponse(PAGE / "graphs.js", headers=PAGE_HEADERS)

    async def show_graphs(self, request: Request) -> Response:
        return JSONResponse({"items": graphs()})

    async def icon(self, request: Request) -> Response:
        return FileResponse(PAGE / "favicon.svg", headers=PAGE_HEADERS)

    async def show_status(self, request: Request) -> Response:
        return JSONResponse({"user": DEMO_USER, "notes": [], **self.status})

    async def token(self, request: Request) -> Response:
        """Issue a token, as the candidate app's page does for its signed-in user."""
        client: httpx2.AsyncClient = request.state.client
        try:
            minted = await client.get(f"{self.candidate_app_url}/api/agent/token", params=dict(request.query_params))
        except httpx2.TransportError:
            return _gone("The candidate app cannot be reached.")
        return Response(minted.content, minted.status_code, {"Cache-Control": "no-store"}, "application/json")

    async def show_aws(self, request: Request) -> Response:
        """Forward to controls that AWS does not have: outbox, workflows, schedules, and firing a schedule."""
        if request.method == "POST" and request.headers.get("origin", _origin(request)) != _origin(request):
            return _error(403, "forbidden", "Only this page may do that.")
        return await self._ask_aws(request, request.scope["raw_path"].removeprefix(b"/local/"))

    async def mail(self, request: Request) -> Response:
        answer = await self._ask_aws(request, b"outbox")
        if answer.status_code != 200:
            return answer
        mails = {mail["id"]: mail for mail in json.loads(bytes(answer.body))["items"]}
        mail = mails.get(request.path_params["mail_id"])
        if mail is None:
            return _error(404, "not_found", "There is no such mail.")
        html = mail["html"] or f"<pre>{escape(mail['text'])}</pre>"
        return HTMLResponse(_with_links_in_new_tabs(html), headers=MAIL_HEADERS)

    async def _ask_aws(self, request: Request, path: bytes) -> Response:
        client: httpx2.AsyncClient = request.state.client
        try:
            answer = await client.send(_request(request.method, self.aws_url, b"/_control/" + path))
        except httpx2.TransportError:
            return _gone("The laptop's AWS cannot be reached.")
        return Response(answer.content, answer.status_code, {"Cache-Control": "no-store"}, "application/json")

    async def approve(self, request: Request) -> Response:
        """Forward the request to the approve function, like its URL."""
        if not self.approve_function:
            return _gone("template.yaml has no approve function.")
        event, loop = await aws_function_url.event_of(request), asyncio.get_running_loop()
        try:
            self.limits.admit(self.approve_function, event)
            answer = await loop.run_in_executor(INVOCATIONS, aws_function_url.invoke, self.approve_function, event)
            self.limits.slots.counted["Url5xxCount", self.approve_function] += answer.status_code >= 500
            return answer
        except Refused as refused:
            return _refused(refused)
        except (BotoCoreError, ClientError):
            return _gone("The approve function cannot be reached.")

    async def function_url(self, request: Request) -> Response:
        """Forward the request to the chat's functions, like their URLs."""
        path = request.scope["path"]
        function = self.turns if path == TURNS or path.startswith(f"{TURNS}/") else self.others
        with ExitStack() as holding:
            try:
                self.limits.admit(function.name, await aws_function_url.event_of(request))
                holding.enter_context(self.limits.slots.taken(function.name))
            except Refused as refused:
                return _refused(refused)
            scope, body = request.scope, await request.body()
            query = b"?" + scope["query_string"] if scope["query_string"] else b""
            headers = self._headers(request, function.timeout_seconds)
            passed = _request(request.method, self.chat_url, scope["raw_path"] + query, headers, body)
            try:
                answer = await request.state.client.send(passed, stream=True)
            except httpx2.TransportError:
                self.limits.slots.counted["Url5xxCount", function.name] += 1
                return _gone("The chat function cannot be reached.")
            self.limits.slots.counted["Url5xxCount", function.name] += answer.status_code >= 500
            # The slot is held until the function ends its response, even if the client has disconnected.
            pieces, slot = asyncio.Queue[bytes | None](), holding.pop_all()
            reading = asyncio.create_task(_read(answer, pieces, slot))
        request.state.readings.add(reading)
        reading.add_done_callback(request.state.readings.discard)
        passing = StreamingResponse(_bytes_of(pieces), answer.status_code)
        given = ((name.lower(), value) for name, value in answer.headers.raw)
        passing.raw_headers = [(name, value) for name, value in given if name not in HOP_BY_HOP]
        return passing

    def _headers(self, request: Request, timeout_seconds: int) -> list[tuple[bytes, bytes]]:
        request_id = str(uuid.uuid4())
        deadline = int((system_clock() + timeout_seconds) * 1000)
        told = {
            b"x-amzn-request-context": {"requestId": request_id},
            b"x-amzn-lambda-context": {"request_id": request_id, "deadline": deadline},
        }
        return [
            *((name, value) for name, value in request.headers.raw if name not in HOP_BY_HOP and name not in told),
            *((name, json.dumps(value).encode()) for name, value in told.items()),
        ]


def _request(
    method: str, base_url: str, target: bytes, headers: Sequence[tuple[bytes, bytes]] = (), content: bytes = b""
) -> httpx2.Request:
    """Send path and query unchanged: httpx would normalize a URL and reject control characters.

    There is no timeout: firing a schedule answers only when its function has finished.
    """
    return httpx2.Request(method, base_url, headers=headers, content=content, extensions={"target": target})


async def _read(answer: httpx2.Response, pieces: asyncio.Queue[bytes | None], slot: ExitStack) -> None:
    with slot:
        try:
            async for chunk in answer.aiter_raw():
                pieces.put_nowait(chunk)
        except httpx2.TransportError:
            pass  # the function died: a client of the real URL would get no more either
        finally:
            await answer.aclose()
    pieces.put_nowait(None)


async def _bytes_of(pieces: asyncio.Queue[bytes | None]) -> AsyncIterator[bytes]:
    while (chunk := await pieces.get()) is not None:
        yield chunk


def _refused(refused: Refused) -> Response:
    return Response(refused.body, refused.status, refused.headers)


def _gone(sentence: str) -> Response:
    return _error(502, "unavailable", sentence)


def _error(status: int, code: str, sentence: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": sentence, "request_id": str(uuid.uuid4())}}, status)


def _origin(request: Request) -> str:
    return f"{request.scope['scheme']}://{request.headers.get('host', '')}"


def _with_links_in_new_tabs(html: str) -> str:
    base = '<base target="_blank">'
    html, heads = re.subn(r"<head(?:\s[^>]*)?>", rf"\g<0>{base}", html, count=1, flags=re.IGNORECASE)
    return html if heads else base + html


@asynccontextmanager
async def client_of(app: Starlette) -> AsyncIterator[dict[str, Any]]:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=50)
    readings = set[asyncio.Task[None]]()
    # No read timeout: a turn may be silent as long as its function runs, and a decision takes as long as its effect.
    async with httpx2.AsyncClient(limits=limits, timeout=httpx2.Timeout(None, connect=10)) as client:
        yield {"client": client, "readings": readings}
        for reading in readings:
            reading.cancel()


def create_app(front: Front, cors: dict[str, Any], origins: list[str]) -> Starlette:
    """`cors` is the function URL's block in template.yaml; `origins` are the allowed origins."""
    answers_cors = Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=cors["AllowMethods"],
        allow_headers=cors["AllowHeaders"],
        expose_headers=cors["ExposeHeaders"],
        max_age=cors["MaxAge"],
    )
    app = Starlette(
        routes=[
            Route("/", front.page),
            Route("/local/status", front.show_status),
            Route("/local/token", front.token),
            Route("/local/outbox", front.show_aws),
            Route("/local/outbox/{mail_id}", front.mail),
            Route("/local/workflows", front.show_aws),
            Route("/local/graphs", front.show_graphs),
            Route("/local/schedules", front.show_aws),
            Route("/local/schedules/{name}", front.show_aws, methods=["POST"]),
            Mount("/widget", StaticFiles(directory=ROOT / "widget" / "dist", check_dir=False)),  # built only for pages
            Route("/page.js", front.script),
            Route("/graphs.js", front.graphs_script),
            Route("/favicon.svg", front.icon),
        ],
        # Against DNS rebinding: a foreign page whose name resolves to this address must not get a token.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"]), answers_cors],
        exception_handlers={HTTPException: _refuse},
        lifespan=client_of,
    )
    app.router.default = _functions(front)
    # It would redirect to any host named by a client.
    app.router.redirect_slashes = False
    return app


def _functions(front: Front) -> ASGIApp:
    """Forward all paths that are not the page's own; both functions validate the path."""

    async def functions(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        is_approve = scope["path"] == "/approve" or scope["path"].startswith("/approve/")
        answer = await (front.approve(request) if is_approve else front.function_url(request))
        await answer(scope, receive, send)

    return functions


async def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    failure = WrongMethod() if error.status_code == WrongMethod.http_status else NotFound()
    return _error(failure.http_status, failure.code, failure.message)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, default=8000)
    arguments.add_argument("--chat-url", required=True)
    arguments.add_argument("--candidate-app-url", required=True)
    arguments.add_argument("--status", type=json.loads, default={})
    given = arguments.parse_args()
    template = Template.load()
    origins = os.environ.get("ALLOWED_ORIGINS", str(template.parameters["AllowedOrigins"])).split(",")
    front = Front(
        chat_url=given.chat_url,
        candidate_app_url=given.candidate_app_url,
        aws_url=os.environ.get("AWS_ENDPOINT_URL", ""),
        approve_function=template.name(APPROVE) if APPROVE in template.resources else "",
        status=given.status,
        turns=UrlFunction(template.name(CHAT), template.timeout(CHAT)),
        others=UrlFunction(template.name(API), template.timeout(API)),
        limits=UrlLimits(slots_of(template, account_concurrency(os.environ))),
    )
    serve(create_app(front, dict(template.cors(CHAT)), origins), given.port)


if __name__ == "__main__":
    main()
