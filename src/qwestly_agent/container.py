"""A Lambda container of a door that is no server: one event loop and one set of services, kept from call to call.

Clients of the database and of HTTP belong to the loop that they are first used on. It runs on a thread of its own, so
that a door may be called from any other: Lambda calls one at a time, the laptop's stands for many containers at once.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap, bootstrap_models
from qwestly_agent.services import ModelServices, Services

CLOSING_SECONDS = 2.0

H = TypeVar("H", bound=Services)
T = TypeVar("T")


class Container(Generic[H]):
    def __init__(self, make_services: Callable[[], Awaitable[H]]) -> None:
        self.make_services = make_services
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._services: asyncio.Task[H] | None = None

    def run(self, work: Callable[[H], Awaitable[T]]) -> T:
        """What the work answers; it blocks until then."""
        return self.start(work).result()

    def start(self, work: Callable[[H], Awaitable[T]]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(self._run(work), self._running_loop())

    def close(self) -> None:
        """The next call begins anew."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop and thread:
            asyncio.run_coroutine_threadsafe(self._close(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="container", daemon=True)
                self._thread.start()
            return self._loop

    async def _run(self, work: Callable[[H], Awaitable[T]]) -> T:
        if self._services is None or (self._services.done() and self._services.exception()):
            self._services = asyncio.ensure_future(self.make_services())
        return await work(await asyncio.shield(self._services))

    async def _close(self) -> None:
        services, self._services = self._services, None
        if services and not services.cancelled() and not services.exception():
            await services.result().close()
        # What watches the database ends by itself, but not at once; with the loop gone it would leave its socket open.
        if left := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(left, timeout=CLOSING_SECONDS)


async def _services() -> Services:
    return await bootstrap(Settings.from_env())


async def _model_services() -> ModelServices:
    return await bootstrap_models(Settings.from_env())


services = Container(_services)
"""Of the doors that call no model."""
model_services = Container(_model_services)
