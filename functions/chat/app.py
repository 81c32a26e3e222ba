"""The chat's handler: an ASGI app behind the Lambda Web Adapter, streaming through the function URL.

Its routes are in `chat.routers`. Nothing is built before the server starts.
"""

# Imported first, so that the garbage collector does not run during the other imports.
import qwestly_agent  # noqa: F401

# isort: split

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType
from typing import Any, Literal

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel
from pymongo.errors import PyMongoError
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from qwestly_agent.base.errors import AgentError, Invalid, NotFound, NotReady, TooManyTurns, Unauthorized, WrongMethod
from qwestly_agent.base.http import BoundedBody
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap_chat, open_connections
from qwestly_agent.chat import api_page
from qwestly_agent.chat.routers import turns
from qwestly_agent.chat.routers.dependencies import (
    Failure,
    is_from_outside,
    only_from_distribution,
    only_known_parameters,
    request_id_of,
    services_of,
)
from qwestly_agent.chat.services import ChatServices
from qwestly_agent.chat.stream import KEEP_ALIVE_SECONDS
from qwestly_agent.chat.turn_request import posted_definitions
from qwestly_agent.model_calls import failure_of

LARGEST_BODY_BYTES = 6 * 1024 * 1024
"""Lambda's own limit. AI SDK clients post their whole history."""

LONGEST_CHECK_SECONDS = 3.5
"""Timeout of the checks in `/healthz`, which responds within four seconds, and of reading the secrets after a
restore."""


class Health(BaseModel):
    ok: Literal[True] = True


class ChatApp(FastAPI):
    """Starts with only the routes of turns. All other routes are imported by the first request that matches none of
    these."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._not_found, self.router.default = self.router.default, self._add_and_route_again

    async def _add_and_route_again(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.add_other_routes()
        await self.router(scope, receive, send)

    def add_other_routes(self) -> None:
        if self.router.default != self._not_found:
            from qwestly_agent.chat.routers.others import ROUTERS

            for each in ROUTERS:
                self.include_router(each)
            self.router.default = self._not_found

    def openapi(self) -> dict[str, Any]:
        self.add_other_routes()
        document = super().openapi()
        document["components"]["schemas"].update(posted_definitions())
        return document


async def services_from_environment() -> ChatServices:
    settings = Settings.from_env()
    settings.require("qwestly_agent_shared_secret", "qwestly_candidate_api_secret", "candidate_api_url")
    return await bootstrap_chat(settings)


def create_app(
    make_services: Callable[[], Awaitable[ChatServices]] = services_from_environment,
    keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
) -> ChatApp:
    @asynccontextmanager
    async def lifespan(app: ChatApp) -> AsyncIterator[None]:
        services = app.state.services = await make_services()
        if services.settings.is_snapshot:
            from qwestly_agent.chat import first_use as first_use
        if services.settings.is_snapshot or not services.settings.answers_turns:
            app.add_other_routes()
        # Not awaited: if the database is down, the first request that reads it reports the error.
        connecting = None if services.settings.is_snapshot else asyncio.create_task(open_connections(services.mongo))
        with before_termination(services.running.end_all):
            yield
        if connecting:
            connecting.cancel()
            await asyncio.wait([connecting])  # not in parallel with closing, which has hung
        await services.close()

    app = ChatApp(
        title="qwestly-agent",
        description=api_page.DESCRIPTION,
        version="1",
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,  # method names in generated clients
        redirect_slashes=False,  # it would redirect to any host that a client names
        dependencies=[Depends(only_from_distribution), Depends(only_known_parameters)],
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
    app.include_router(turns.router)
    return app


@contextmanager
def before_termination(end_turns: Callable[[], None]) -> Iterator[None]:
    """End the turns as soon as the process receives a signal to stop: the server itself would first wait for their
    streams."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
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


async def healthz(request: Request) -> Health:
    """Check within seconds that the database and the secrets are available. Raises `NotReady`, which names those that
    are not.

    The adapter's own readiness check does not use the database, so that an environment without it can still report that
    to users.
    """
    if is_from_outside(request):
        services = services_of(request)
        async with asyncio.TaskGroup() as asking:
            database = asking.create_task(answers(services.mongo.admin.command("ping")))
            reading = asking.create_task(answers(services.secrets.renew()))
        there = {"database": database.result(), "secrets": reading.result() and services.secrets.is_readable}
        if hanging := [name for name, answered in there.items() if not answered]:
            raise NotReady(f"Does not answer: {', '.join(hanging)}.")
    return Health()


async def answers(asked: Coroutine[Any, Any, Any]) -> bool:
    """Return True if the call succeeds within the time limit."""
    try:
        async with asyncio.timeout(LONGEST_CHECK_SECONDS):
            await asked
    except (PyMongoError, TimeoutError):
        return False
    return True


async def after_restore(request: Request) -> Health:
    """Read the secrets again, and connect to the database. The adapter calls this in each environment restored from a
    snapshot, which may be weeks old.

    It must not fail, or Lambda would not start the environment. Raises `NotFound` for requests from outside.
    """
    if is_from_outside(request):
        raise NotFound
    services = services_of(request)
    await answers(services.secrets.renew(at_once=True))
    await open_connections(services.mongo)
    return Health()


async def docs(request: Request) -> HTMLResponse:
    return HTMLResponse(api_page.render(request.app.openapi()))


async def answer_error(request: Request, error: Exception) -> JSONResponse:
    """Render every error in the same format, with the request id that is also in the log."""
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
