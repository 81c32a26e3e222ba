"""The turns that run in this process: renew their leases, and stop them when signaled.

One watcher task serves all turns. It lives while any turn runs, so that an idle container sends no queries.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any

from aws_lambda_powertools import Logger
from pymongo.errors import PyMongoError

from qwestly_agent.approvals import pause
from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import AgentError, Braked, ConversationBusy, DataGone, Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.stores.conversations import LEASE_SECONDS, Conversations
from qwestly_agent.stores.signals import Signals
from qwestly_agent.stores.turns import ClaimedConversation

RENEW_SECONDS = LEASE_SECONDS / 3
WENT_ON_ELSEWHERE = "This conversation went on elsewhere. Please reload it."


@dataclass
class RunningTurn:
    """A running turn. After a cancellation, `error` is None if its user stopped it."""

    claim: ClaimedConversation
    cancel: Callable[[], None]
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
    _turns: dict[str, RunningTurn] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _watcher: asyncio.Task[None] | None = None

    def start(self, turn: Coroutine[Any, Any, None]) -> None:
        """Run a turn in a task of its own, independent of its reader."""
        task = asyncio.create_task(turn)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def end_all(self) -> None:
        """The process is about to end: cancel all turns, each of which then records what it has and tells its
        reader."""
        for watched in list(self._turns.values()):
            watched.fail(Unavailable("The service is restarting. What I had so far is kept; please try again."))

    async def ended(self) -> None:
        """Wait until every turn has recorded what it has."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @contextmanager
    def watching(self, claim: ClaimedConversation, cancel: Callable[[], None]) -> Iterator[RunningTurn]:
        """Within the context, renew the lease, and call `cancel` if the turn must end early."""
        watched = self._turns[claim.turn.run_id] = RunningTurn(claim, cancel)
        if self._watcher is None or self._watcher.done():
            # A context of its own, so that its log lines do not carry the run id of the turn that started it.
            self._watcher = asyncio.create_task(self._watch(), context=Context())
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
                await self._try(*(self._renew(watched) for watched in list(self._turns.values())))

    async def _try(self, *what: Coroutine[Any, Any, None]) -> None:
        for error in await asyncio.gather(*what, return_exceptions=True):
            if isinstance(error, PyMongoError):
                self.logger.error(Event.WATCH_FAILED, extra=cause_of(error))
            elif isinstance(error, BaseException):
                raise error

    def _interval(self) -> float:
        """Seconds until the next reading: that of the youngest turn."""
        begun = max(watched.claim.turn.started_at for watched in self._turns.values())
        return pause.interval(self.clock() - begun)

    async def _read_signals(self) -> None:
        runs_of: dict[str, list[str]] = {}
        for run_id, watched in self._turns.items():
            runs_of.setdefault(watched.claim.user_id, []).append(run_id)
        await asyncio.gather(*(self._read_signals_of(user, runs) for user, runs in runs_of.items()))

    async def _read_signals_of(self, user_id: str, run_ids: list[str]) -> None:
        """Stop those of these runs that their user stopped; fail all if a brake is on, or if signals cannot be read."""
        try:
            for run_id in await self.signals.stopped(user_id, run_ids) & self._turns.keys():
                self._turns[run_id].stop()
        except (Braked, PyMongoError) as error:
            if isinstance(error, PyMongoError):
                self.logger.error(Event.WATCH_FAILED, extra=cause_of(error))
            for run_id in run_ids:
                if run_id in self._turns:
                    self._turns[run_id].fail(error if isinstance(error, Braked) else DataGone())

    async def _renew(self, watched: RunningTurn) -> None:
        claim = watched.claim
        run_id = claim.turn.run_id
        held = await self.conversations.renew(claim.user_id, claim.conversation_id, run_id, self.clock())
        if not held and run_id in self._turns:  # else it ended during the renewal
            self.logger.warning(Event.LEASE_LOST, extra={"run_id": run_id})
            watched.fail(ConversationBusy(WENT_ON_ELSEWHERE))
