"""A container for the Lambda handlers other than the chat: one event loop and one set of services, shared by all
invocations.

Database and HTTP clients belong to the event loop that first uses them. The loop runs in its own thread, so that a
handler may be called from any thread: Lambda makes one call at a time, the local stack many in parallel.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from qwestly_agent.base.settings import Settings
from qwestly_agent.base.traces import flush
from qwestly_agent.bootstrap import bootstrap, bootstrap_models, bootstrap_resumes
from qwestly_agent.services import ModelServices, Services
from qwestly_agent.workflow import Side
from qwestly_agent.workflow_state import States, ask_approval_by, dispatch, dispatch_within_day
from qwestly_agent.workflows import WORKFLOWS

if TYPE_CHECKING:  # a slow import, which handlers without models do not need
    from qwestly_agent.resumes.reader import ResumeServices

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
        """Run the work on the event loop, block until it is done, and return its result."""
        return self.start(work).result()

    def start(self, work: Callable[[H], Awaitable[T]]) -> "Future[T]":
        """Start the work on the event loop, without waiting for it."""
        return asyncio.run_coroutine_threadsafe(self._run(work), self._running_loop())

    def close(self) -> None:
        """Close the services and the event loop. The next call creates new ones."""
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
        services = await asyncio.shield(self._services)
        try:
            return await work(services)
        finally:
            await flush(services.traces)

    async def _close(self) -> None:
        services, self._services = self._services, None
        if services and not services.cancelled() and not services.exception():
            await services.result().close()
        # Wait for the driver's monitors to end: without the loop, their sockets would stay open.
        if left := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(left, timeout=CLOSING_SECONDS)


async def _services() -> Services:
    return await bootstrap(Settings.from_env())


async def _model_services() -> ModelServices:
    return await bootstrap_models(Settings.from_env())


async def _resume_services() -> "ResumeServices":
    return await bootstrap_resumes(Settings.from_env())


services = Container(_services)
"""The container of handlers that do not call models."""
model_services = Container(_model_services)
resume_services = Container(_resume_services)


Handler: TypeAlias = Callable[[dict[str, Any], object], dict[str, Any]]


def serve_writer(functions: str) -> Handler:
    """Return the handler of a function that runs the writer states of all workflows in this folder. They are imported
    now, before the first event."""
    return serve(states_of(functions, "writer"))


def serve(states: States) -> Handler:
    """Return the handler of a function that runs these states and does not call models."""

    def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
        return services.run(dispatch(states, event, context))

    return handler


def serve_reader(functions: str, scheduled: States | None = None) -> Handler:
    """Return the handler of a function that runs the reader states of all workflows in this folder. `scheduled` states
    run whatever the stage has spent."""
    states, beside = states_of(functions, "reader"), scheduled or {}
    has_parser = any(each.has_parser for each in WORKFLOWS if each.functions == functions)

    def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
        asking = resume_services if has_parser else model_services
        match event:
            case {"workflow": workflow, "state": state} if (workflow, state) in beside:
                return asking.run(dispatch(beside, event, context))
            case _:
                return asking.run(dispatch_within_day(states, event, context))

    return handler


def states_of(functions: str, side: Side) -> States:
    """Import the states of one side of the workflows in this folder. The writer's states include those that request
    approvals."""
    workflows = [each for each in WORKFLOWS if each.functions == functions]
    states = {(each.name, name): state for each in workflows for name, state in each.load_states(side).items()}
    if side == "writer":
        asking = {each.name: ask_approval_by(each.load_request()) for each in workflows if each.asks}
        states |= {(workflow, state.name): state for workflow, state in asking.items()}
    return states
