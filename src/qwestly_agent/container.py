"""A Lambda container of a door that is no server: one event loop and one house, kept from call to call.

Clients of the database and of HTTP belong to the loop that they are first used on. It runs on a thread of its own, so
that a door may be called from any other: Lambda calls one at a time, the laptop's stands for many containers at once.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from qwestly_agent.bootstrap import FullHouse, House, bootstrap, bootstrap_without_models
from qwestly_agent.settings import Settings

CLOSING_SECONDS = 2.0

H = TypeVar("H", bound=House)
T = TypeVar("T")


class Container(Generic[H]):
    def __init__(self, make_house: Callable[[], Awaitable[H]]) -> None:
        self.make_house = make_house
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._house: asyncio.Task[H] | None = None

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
                self._thread = threading.Thread(target=self._loop.run_forever, name="house", daemon=True)
                self._thread.start()
            return self._loop

    async def _run(self, work: Callable[[H], Awaitable[T]]) -> T:
        if self._house is None or (self._house.done() and self._house.exception()):
            self._house = asyncio.ensure_future(self.make_house())
        return await work(await asyncio.shield(self._house))

    async def _close(self) -> None:
        house, self._house = self._house, None
        if house and not house.cancelled() and not house.exception():
            await house.result().close()
        # What watches the database ends by itself, but not at once; with the loop gone it would leave its socket open.
        if left := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(left, timeout=CLOSING_SECONDS)


async def _house() -> House:
    return await bootstrap_without_models(Settings.from_env())


async def _full_house() -> FullHouse:
    return await bootstrap(Settings.from_env())


house = Container(_house)
"""Of the doors that call no model."""
full_house = Container(_full_house)
