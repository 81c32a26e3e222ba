"""The chat's handler: an ASGI app behind the Lambda Web Adapter, streaming through the function's URL.

Its routes are in `chat.routers`. Nothing is built before the server starts.
"""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel
from pydantic_core import from_json
from pymongo.errors import PyMongoError
from starlette.exceptions import HTTPException

from qwestly_agent.base.body_limit import BoundedBody
from qwestly_agent.base.errors import AgentError, Invalid, NotFound, TooManyTurns, Unauthorized, WrongMethod
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap_chat, open_connections
from qwestly_agent.chat import api_page
from qwestly_agent.chat.request import POSTED_DEFINITIONS
from qwestly_agent.chat.routers import (
    account,
    activity,
    approvals,
    briefings,
    conversations,
    designs,
    memories,
    settings,
)
from qwestly_agent.chat.routers.dependencies import services_of
from qwestly_agent.chat.services import ChatServices
from qwestly_agent.chat.stream import KEEP_ALIVE_SECONDS
from qwestly_agent.chat.view import Failure
from qwestly_agent.model_calls.failures import failure_of

LARGEST_BODY_BYTES = 6 * 1024 * 1024
"""What Lambda itself lets through; a client of the AI SDK posts its whole history."""


class Health(BaseModel):
    ok: Literal[True] = True


class ChatApp(FastAPI):
    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        document["components"]["schemas"].update(POSTED_DEFINITIONS)
        return document


async def services_from_environment() -> ChatServices:
    settings = Settings.from_env()
    settings.needs("qwestly_agent_shared_secret", "qwestly_candidate_api_secret", "candidate_api_url")
    return await bootstrap_chat(settings)


def create_app(
    make_services: Callable[[], Awaitable[ChatServices]] = services_from_environment,
    keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        services = app.state.services = await make_services()
        # Nobody waits for it: a database that is away is told by the first request, as soon as it is asked.
        connecting = None if services.settings.is_snapshot else asyncio.create_task(open_connections(services.mongo))
        with before_termination(services.running.end_all):
            yield
        if connecting:
            connecting.cancel()
        await services.close()

    app = ChatApp(
        title="qwestly-agent",
        description=api_page.DESCRIPTION,
        version="1",
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # it would redirect to whatever host a client names
        responses={"4XX": {"model": Failure}, "5XX": {"model": Failure}},
    )
    app.state.keep_alive_seconds = keep_alive_seconds
    app.add_middleware(
        BoundedBody,
        most_bytes=LARGEST_BODY_BYTES,
        too_long="The request is too large.",
        cut_off="The request ended before its body did.",
        answer=answer_error,
    )
    for kind in (AgentError, PyMongoError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answer_error)
    app.get("/healthz")(healthz)
    app.post("/after-restore", include_in_schema=False)(after_restore)
    app.get("/api/docs", include_in_schema=False)(docs)
    for routes in (conversations, designs, approvals, activity, briefings, memories, settings, account):
        app.include_router(routes.router)
    return app


@contextmanager
def before_termination(end_turns: Callable[[], None]) -> Iterator[None]:
    """Turns end as soon as the process is told to: the server itself would first wait for their streams."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    loop = asyncio.get_running_loop()
    servers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def end(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(end_turns)
        server = servers[signal.Signals(number)]
        if callable(server):
            server(number, frame)

    for number in servers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, server in servers.items():
            signal.signal(number, server)


async def healthz() -> Health:
    """Readiness; touches nothing."""
    return Health()


async def after_restore(request: Request) -> Health:
    """Connect to the database. The adapter calls this in each environment that was restored from a snapshot.

    It must not fail: Lambda would not start the environment. Raises `NotFound` for requests from outside, which the
    adapter marks with a header that nobody can take off.
    """
    if "x-amzn-request-context" in request.headers:
        raise NotFound
    await open_connections(services_of(request).mongo)
    return Health()


async def docs(request: Request) -> HTMLResponse:
    return HTMLResponse(api_page.render(request.app.openapi()))


def request_id_of(request: Request) -> str:
    try:
        return str(from_json(request.headers["x-amzn-request-context"])["requestId"])
    except (KeyError, ValueError, TypeError):
        return services_of(request).new_id()


async def answer_error(request: Request, error: Exception) -> JSONResponse:
    """Every error in the one shape, with a request id that stands in the log too."""
    failure, request_id = _failure(error), request_id_of(request)
    if failure.http_status >= 500:
        line = {"request_id": request_id, "code": failure.code, **cause_of(error)}
        services_of(request).logger.error(Event.REQUEST_FAILED, extra=line)
    elif failure.http_status == TooManyTurns.http_status:
        services_of(request).logger.info(Event.TURN_REFUSED, extra={"request_id": request_id, "code": failure.code})
    headers = {"Retry-After": str(failure.retry_after)} if failure.retry_after else {}
    if failure.http_status == Unauthorized.http_status:
        headers["WWW-Authenticate"] = "Bearer"
    body = {"error": {"code": failure.code, "message": failure.message, "request_id": request_id}}
    return JSONResponse(body, failure.http_status, headers)


def _failure(error: Exception) -> AgentError:
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return Invalid(f"{first['loc'][-1]}: {first['msg']}.")
    if isinstance(error, HTTPException):
        known = {each.http_status: each for each in (NotFound, WrongMethod)}
        return known.get(error.status_code, Invalid)()
    return failure_of(error)


app = create_app()
