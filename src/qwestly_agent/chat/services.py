"""The services of the chat's handler, and the registry of the turns that run in its process."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pymongo
from aws_lambda_powertools import Logger
from pymongo.errors import PyMongoError

from qwestly_agent.agents.design import Designs
from qwestly_agent.approvals import pause
from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import AgentError, Braked, ConversationBusy, DataGone, Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.services import ModelServices
from qwestly_agent.stores.conversations import LEASE_SECONDS, Conversations
from qwestly_agent.stores.messages import ClaimedConversation
from qwestly_agent.stores.user_settings import Signals

# --- turn registry ----------------------------------------------------------------------------------------------------
# The turns that run in this process: renew their leases, store their text so far, and stop them when signaled.
#
# Two tasks serve all turns. They exist only while a turn runs, so that an idle container sends no queries.


RENEW_SECONDS = LEASE_SECONDS / 3
KEEP_SECONDS = 0.5
"""Interval at which an answer is stored: at most this much of it is lost if its process dies."""
MOST_UNFINISHED = 20
"""Maximum number of turns kept for recording until the database is available again."""
LATE_SECONDS = 1.0
MOST_AT_ONCE = 8
"""Maximum number of commands that the registry sends at once; fewer than the database has connections. A command that
waits here does not use up its own timeout."""
WENT_ON_ELSEWHERE = "This conversation went on elsewhere. Please reload it."


class SignalsUnread(DataGone):
    """The brake cannot be read, so no turn may continue."""


@dataclass
class RunningTurn:
    """A running turn. After a cancellation, `error` is None if its user stopped it."""

    claim: ClaimedConversation
    cancel: Callable[[], None]
    keep: Callable[[], Coroutine[Any, Any, None]]
    """Stores the text produced since the last call."""
    stopped: bool = False
    error: AgentError | None = None

    def stop(self) -> None:
        self.stopped = True
        self.cancel()

    def fail(self, error: AgentError) -> None:
        self.error = error
        self.cancel()


@dataclass
class TurnRegistry:
    signals: Signals
    conversations: Conversations
    clock: Clock
    logger: Logger
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    sleep_to_keep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Sleeps between two writes of the partial text, and between two reads of it."""
    is_ending: bool = False
    """True once the process is about to end."""
    _turns: dict[str, RunningTurn] = field(default_factory=dict)
    _unfinished: dict[str, Callable[[], Coroutine[Any, Any, None]]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _watcher: asyncio.Task[None] | None = None
    _keeper: asyncio.Task[None] | None = None

    def start(self, turn: Coroutine[Any, Any, None]) -> None:
        """Run a turn in a separate task, independent of its reader."""
        task = asyncio.create_task(turn)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def end_all(self) -> None:
        """Cancel all turns before the process ends. Each records its text so far and notifies its reader."""
        self.is_ending = True
        for watched in list(self._turns.values()):
            watched.fail(Unavailable("The service is restarting. What I had so far is saved; please try again."))

    async def ended(self) -> None:
        """Wait until all turns have been recorded."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def finish_later(self, run_id: str, finish: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Record an ended turn once the database is available again: at the next turn of this process, or while one
        runs."""
        self._unfinished[run_id] = finish
        for oldest in [*self._unfinished][:-MOST_UNFINISHED]:
            del self._unfinished[oldest]

    async def finish_unfinished(self) -> None:
        """Record ended turns that could not be stored before, with a short timeout. Turns that fail again are retried
        by the next call."""
        while self._unfinished:
            run_id, finish = self._unfinished.popitem()
            try:
                with pymongo.timeout(LATE_SECONDS):
                    await finish()
            except PyMongoError as error:
                self._unfinished[run_id] = finish
                self.logger.error(Event.WATCH_FAILED, extra=cause_of(error))
                return

    @contextmanager
    def watching(
        self, claim: ClaimedConversation, cancel: Callable[[], None], keep: Callable[[], Coroutine[Any, Any, None]]
    ) -> Iterator[RunningTurn]:
        """Within the context, renew the lease, call `keep` periodically, and call `cancel` if the turn must end
        early."""
        watched = self._turns[claim.turn.run_id] = RunningTurn(claim, cancel, keep)
        # Use separate contexts, so that the tasks' log lines do not contain the run id of the turn that started them.
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.create_task(self._watch(), context=Context())
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.create_task(self._keep_alive(), context=Context())
        try:
            yield watched
        finally:
            del self._turns[claim.turn.run_id]

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        renewed = loop.time()
        while self._turns:
            await self.sleep(self._interval())
            if not self._turns:
                return
            await self._read_signals()
            if loop.time() - renewed >= RENEW_SECONDS:
                renewed = loop.time()
                await self._try(*(partial(self._renew, watched) for watched in list(self._turns.values())))

    async def _keep_alive(self) -> None:
        while self._turns:
            await self.sleep_to_keep(KEEP_SECONDS)
            await self._try(self.finish_unfinished, *(watched.keep for watched in list(self._turns.values())))

    async def _try(self, *what: Callable[[], Coroutine[Any, Any, None]]) -> None:
        for error in await _few_at_once(*what):
            if isinstance(error, PyMongoError):
                self.logger.error(Event.WATCH_FAILED, extra=cause_of(error))
            elif isinstance(error, BaseException):
                raise error

    def _interval(self) -> float:
        """Return the seconds until the next reading of the signals, which depend on the youngest turn."""
        begun = max(watched.claim.turn.started_at for watched in self._turns.values())
        return pause.polling_interval(self.clock() - begun)

    async def _read_signals(self) -> None:
        runs_of: dict[str, list[str]] = {}
        for run_id, watched in self._turns.items():
            runs_of.setdefault(watched.claim.user_id, []).append(run_id)
        for error in await _few_at_once(*(partial(self._read_signals_of, *each) for each in runs_of.items())):
            if error:
                raise error

    async def _read_signals_of(self, user_id: str, run_ids: list[str]) -> None:
        """Stop the runs that their user stopped; fail all of these runs if a brake is on, or if signals cannot be
        read."""
        try:
            for run_id in await self.signals.list_stopped(user_id, run_ids) & self._turns.keys():
                self._turns[run_id].stop()
        except Braked as braked:
            self._fail(run_ids, braked)
        except PyMongoError as error:
            self.logger.error(Event.WATCH_FAILED, extra=cause_of(error))
            unread = SignalsUnread()
            unread.__cause__ = error  # log the cause with the failed turn
            self._fail(run_ids, unread)

    def _fail(self, run_ids: Collection[str], error: AgentError) -> None:
        for run_id in self._turns.keys() & run_ids:
            self._turns[run_id].fail(error)

    async def _renew(self, watched: RunningTurn) -> None:
        claim = watched.claim
        run_id = claim.turn.run_id
        held = await self.conversations.renew(claim.user_id, claim.conversation_id, run_id, self.clock())
        if not held and run_id in self._turns:  # otherwise it ended during the renewal
            self.logger.warning(Event.LEASE_LOST, extra={"run_id": run_id})
            watched.fail(ConversationBusy(WENT_ON_ELSEWHERE))


async def _few_at_once(*what: Callable[[], Coroutine[Any, Any, None]]) -> list[BaseException | None]:
    """Run the coroutines, at most `MOST_AT_ONCE` at a time; return the exception that each raised, or None."""
    slots = asyncio.Semaphore(MOST_AT_ONCE)

    async def run(each: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async with slots:
            await each()

    return await asyncio.gather(*map(run, what), return_exceptions=True)


# --- services ---------------------------------------------------------------------------------------------------------
# The services of the chat's handler: stores, clients, models, designs, and the registry of running turns.


@dataclass(frozen=True, eq=False, repr=False)
class ChatServices(ModelServices):
    """`ModelServices` with the designs and the registry of running turns."""

    designs: Designs
    running: TurnRegistry

    async def close(self) -> None:
        self.running.end_all()
        await self.running.ended()
        await super().close()
