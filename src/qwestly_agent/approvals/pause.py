"""The brake: stop all of a user's runs and prevent new ones; pending approvals stay pending.

It is checked right before each effect (`execute.py`), at each state of a workflow (`workflow_state.py`) and while a
turn or a state runs (`run_unless_paused`, `chat/services.py`). `StopExecution` would need a permission for every
execution, would not inform the user, and would let the running function finish.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict
from pymongo.errors import PyMongoError

from qwestly_agent.base.clock import Clock, Moment
from qwestly_agent.base.errors import Braked, Unavailable
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.stores.runs import Runs, Sweeps
from qwestly_agent.stores.user_settings import Signal, Signals

PATIENCE_SECONDS = 30.0
"""How long to wait for runs to end; after that, the receipt lists those that could not be stopped."""
LOOK_SECONDS = 0.1
OFTEN_SECONDS, OFTEN_UNTIL_SECONDS, SELDOM_SECONDS = 0.3, 5.0, 0.5
"""Intervals between readings of the signals: in a run's first seconds, and later."""
FROZEN = "Everything is paused. You can decide this once you resume."
UNSURE = (
    "We can’t reach your data right now. What you asked for may still take effect in a moment, so please look before "
    "you try again."
)
UNREAD = "Everything is paused: nothing begins any more. What was stopped cannot be read now; please look again soon."

T = TypeVar("T")

State = Literal["running", "pausing", "paused", "partial"]


class Receipt(BaseModel):
    """The brake's outcome for each run in progress, by the run's name."""

    model_config = ConfigDict(frozen=True)

    stopped: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    """Ended without being stopped."""
    unknown: tuple[str, ...] = ()
    """Effects that were sent, with an unknown outcome."""
    running: tuple[str, ...] = ()
    """Could not be stopped."""
    waiting: tuple[str, ...] = ()
    """The user's scheduled briefing: it is skipped if the brake is still on at its time."""

    @property
    def is_complete(self) -> bool:
        return not (self.unknown or self.running)


class PauseStatus(BaseModel):
    """The state of the brake as shown to its user."""

    model_config = ConfigDict(frozen=True)

    state: State
    since: Moment | None = None
    receipt: Receipt | None = None
    """The receipt of the current or last brake; None until it is known."""
    everybody: bool = False
    """True if operators have paused all users."""


@dataclass(frozen=True)
class Pause:
    """The brake of one user, or of `EVERYBODY`, as stored."""

    own: Signal
    everybody: Signal

    @property
    def is_on(self) -> bool:
        return bool(self.own.brake_since or self.everybody.brake_since)

    @property
    def changed_at(self) -> float:
        """Time of the last change, in seconds since 1970; 0.0 if the brake was never used."""
        moments = ((each.brake_since, each.released_at) for each in (self.own, self.everybody))
        return max(moment or 0.0 for moment in chain.from_iterable(moments))

    @property
    def receipt(self) -> Receipt | None:
        """The user's own receipt; the one for `EVERYBODY` would name other users' runs."""
        since = self.own.brake_since or self.own.receipt_since
        here = self.own.receipt is not None and self.own.receipt_since == since
        return Receipt.model_validate(self.own.receipt) if here else None

    def status(self, now: float) -> PauseStatus:
        since = self.own.brake_since or self.everybody.brake_since
        everybody = self.everybody.brake_since is not None
        return PauseStatus(state=self._state(now), since=since, receipt=self.receipt, everybody=everybody)

    def _state(self, now: float) -> State:
        if self.own.brake_since is None:
            return "paused" if self.everybody.brake_since else "running"
        if self.receipt is None or (self.receipt.running and now < self.own.brake_since + PATIENCE_SECONDS):
            return "pausing"
        return "paused" if self.receipt.is_complete else "partial"


async def read(signals: Signals, whose: str) -> Pause:
    return Pause(*await signals.read(whose))


async def status(signals: Signals, sweeps: Sweeps, whose: str, clock: Clock) -> PauseStatus:
    """Return the status, with the receipt as complete as possible."""
    pause = await read(signals, whose)
    if pause.own.brake_since or (pause.receipt and not pause.receipt.is_complete):
        await _complete(signals, sweeps, whose, clock, set())
        pause = await read(signals, whose)
    return pause.status(clock())


class ReceiptUnread(Unavailable):
    """The brake is on, but the list of what it stopped could not be read from the database."""

    sentence = UNREAD


class BrakeUnsure(Unavailable):
    """The database did not respond; the brake may be on or off."""

    sentence = UNSURE


async def engage(signals: Signals, sweeps: Sweeps, whose: str, clock: Clock) -> PauseStatus:
    """Turn the brake on (`whose`: a user id or `EVERYBODY`), wait until the runs it covers have ended, and store the
    receipt.

    The brake is written before anything is read, and the write is retried while the database does not respond. Raises
    `BrakeUnsure` if the database never responded, and `ReceiptUnread` if the brake is on but its runs could not be
    read.
    """
    time, now = asyncio.get_running_loop().time, clock()
    ends, caught = time() + PATIENCE_SECONDS, set[str]()
    while True:
        try:
            await signals.turn_brake_on(whose, now)
            break
        except PyMongoError:
            if time() >= ends:
                raise BrakeUnsure from None
        await asyncio.sleep(LOOK_SECONDS)
    silent = clock() - now
    while True:
        try:
            # No run could renew its lease while the database did not respond.
            left = await _complete(signals, sweeps, whose, lambda: clock() - silent, caught)
        except PyMongoError:
            if time() >= ends:
                raise ReceiptUnread from None
        else:
            if not left or time() >= ends:
                break
        await asyncio.sleep(LOOK_SECONDS)
    return (await read(signals, whose)).status(clock() + PATIENCE_SECONDS)


async def release(signals: Signals, sweeps: Sweeps, whose: str, clock: Clock) -> PauseStatus:
    """Turn the brake off. Stopped work stays stopped, and the receipt can still be read. Raises `BrakeUnsure` if the
    database does not respond."""
    with suppress(PyMongoError):  # an incomplete receipt must not keep the brake on
        # Once the brake is off, runs stopped by another brake cannot be distinguished from those stopped by this one.
        await _complete(signals, sweeps, whose, clock, set())
    try:
        await signals.turn_brake_off(whose, clock())
        return await status(signals, sweeps, whose, clock)
    except PyMongoError:
        raise BrakeUnsure from None


async def _complete(signals: Signals, sweeps: Sweeps, whose: str, clock: Clock, caught: set[str]) -> bool:
    """Update the receipt; return True if something is still running. `caught` collects the names of the runs seen so
    far."""
    while True:
        pause = await read(signals, whose)
        if (since := pause.own.brake_since or pause.own.receipt_since) is None:
            return False
        receipt, runs_on = await _receipt_now(sweeps, whose, clock, caught, pause, since)
        stored = receipt.model_dump(mode="json")
        if receipt == pause.receipt or await signals.save_receipt(whose, since, stored, pause.own.receipt_edits):
            return runs_on


async def _receipt_now(
    sweeps: Sweeps, whose: str, clock: Clock, caught: set[str], pause: Pause, since: float
) -> tuple[Receipt, bool]:
    """Return the receipt that follows the stored one, and True if something is still running."""
    is_on, before = pause.own.brake_since is not None, pause.receipt or Receipt()
    found = await sweeps.running_work(whose, clock())
    sent = found.executing | found.unknown
    caught.update(before.running, before.unknown)
    if is_on:
        caught.update(found.running, sent)
    running, unknown = caught & found.running, caught & sent
    over = caught - running - unknown
    noted = await sweeps.stopped_work(whose, over, since)
    # After the release, another brake may stop runs that this one never saw.
    stopped = (noted if is_on else noted & over).union(before.stopped) - running - unknown
    finished = over.union(before.finished) - stopped - running - unknown
    planned = await sweeps.planned_briefing(whose) if is_on and whose != EVERYBODY else None
    waiting = ({planned} if planned else set(before.waiting) if not is_on else set[str]()) - stopped
    receipt = Receipt(
        stopped=_sorted(stopped),
        finished=_sorted(finished),
        unknown=_sorted(unknown),
        running=_sorted(running),
        waiting=_sorted(waiting),
    )
    return receipt, bool(running or (caught & found.executing))


async def check(signals: Signals, user_id: str) -> None:
    """Read the brake now. Raises `Braked`, and database errors."""
    await signals.check_brake(user_id)


@asynccontextmanager
async def named_run(runs: Runs, user_id: str, name: str, clock: Clock) -> AsyncIterator[None]:
    """Within the context, a brake finds this run by its name. If `Braked` leaves the context, the receipt lists the run
    as stopped.

    Check the brake inside: either that check sees the brake, or the brake sees the run.
    """
    key = await runs.begin(user_id, name, clock())
    try:
        yield
    except Braked:
        with suppress(PyMongoError):
            await runs.end_stopped_by_brake(user_id, key, clock())
        raise
    except BaseException:
        with suppress(PyMongoError):
            await runs.end(user_id, key)
        raise
    with suppress(PyMongoError):
        await runs.end(user_id, key)


@asynccontextmanager
async def named_effect(
    runs: Runs, signals: Signals, user_id: str, name: str, clock: Clock
) -> AsyncIterator[float | None]:
    """Within the context, send an effect that has no approval: a brake does not abort it, but waits for it to end and
    lists it by this name. If any exception other than `Braked` leaves the context, the outcome is unknown.

    Yields the start of an earlier attempt with an unknown outcome; None if there was none. Raises `Braked` if the brake
    was on before the first attempt.
    """
    before = await runs.begin_effect(user_id, name, clock())
    try:
        if before is None:
            await _check_unsent(runs, signals, user_id, name)
        yield before
    except Braked:
        with suppress(PyMongoError):
            await runs.end_effect(user_id, name)
            if before is not None:  # a receipt may list it as unknown
                await runs.record_stopped(user_id, name, clock())
        raise
    except BaseException:
        with suppress(PyMongoError):
            await runs.give_up_effect(user_id, name)
        raise
    with suppress(PyMongoError):
        await runs.end_effect(user_id, name)


async def _check_unsent(runs: Runs, signals: Signals, user_id: str, name: str) -> None:
    try:
        await check(signals, user_id)
    except PyMongoError:
        await runs.end_effect(user_id, name)
        raise


async def run_unless_paused(signals: Signals, user_id: str, work: Coroutine[Any, Any, T]) -> T:
    """Run `work` and return its result. If the brake is on or cannot be read, raise the error; `work` is then not
    started, or is cancelled."""
    try:
        await check(signals, user_id)
    except BaseException:
        work.close()
        raise
    working = asyncio.ensure_future(work)
    try:
        for seconds in _intervals():
            # Read without a second task: a cancelled task may swallow its cancellation on Python 3.11.
            await asyncio.wait((working,), timeout=seconds)
            if not working.done():
                await check(signals, user_id)
            if working.done():
                break
        return working.result()
    finally:
        working.cancel()
        with suppress(BaseException):
            await working


def polling_interval(age: float) -> float:
    """Return the seconds until the next reading of the signals, for a run of this age."""
    return OFTEN_SECONDS if age < OFTEN_UNTIL_SECONDS else SELDOM_SECONDS


def _intervals() -> Iterator[float]:
    often = round(OFTEN_UNTIL_SECONDS / OFTEN_SECONDS)
    return chain(repeat(OFTEN_SECONDS, often), repeat(SELDOM_SECONDS))


def _sorted(runs: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted(runs))
