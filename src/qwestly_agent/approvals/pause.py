"""The brake: stop all of a user's runs and let none begin; pending approvals stay pending."""

import asyncio
from collections.abc import Collection, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from qwestly_agent.base.clock import Clock
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.drafts import Drafts
from qwestly_agent.stores.messages import Messages
from qwestly_agent.stores.signals import Signals

PATIENCE_SECONDS = 30.0
"""Time to wait for runs to end; the receipt then lists those that could not be stopped."""
LOOK_SECONDS = 0.1
WATCH_SECONDS = 0.3

T = TypeVar("T")

State = Literal["running", "pausing", "paused", "partial"]


class Receipt(BaseModel):
    """Of runs, by their ids: what the brake stopped, what had finished by itself, and what it could not stop."""

    model_config = ConfigDict(frozen=True)

    stopped: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    running: tuple[str, ...] = ()


class PauseStatus(BaseModel):
    """Whether the agent may run, as its user sees it."""

    model_config = ConfigDict(frozen=True)

    state: State
    since: float | None = None
    """Seconds since the epoch."""
    receipt: Receipt | None = None
    """None until it is known."""
    everybody: bool = False
    """True if operators have paused all users."""


async def status(signals: Signals, whose: str) -> PauseStatus:
    own, everybody = await asyncio.gather(signals.brake(whose), signals.brake(EVERYBODY))
    pulled = own or everybody
    if pulled is None:
        return PauseStatus(state="running")
    receipt = Receipt.model_validate(pulled.receipt) if pulled.receipt is not None else None
    state: State = "pausing" if receipt is None else "partial" if receipt.running else "paused"
    return PauseStatus(state=state, since=pulled.since, receipt=receipt, everybody=everybody is not None)


class Runs(Protocol):
    """The runs that a brake stops."""

    async def running(self, now: float) -> set[str]: ...

    async def braked(self, run_ids: Collection[str]) -> set[str]:
        """Those of these runs that the brake stopped."""
        ...


@dataclass(frozen=True)
class RunsOf:
    """One user's runs: turns, pipelines, and approvals that are being executed."""

    user_id: str
    conversations: Conversations
    messages: Messages
    drafts: Drafts
    approvals: Approvals

    async def running(self, now: float) -> set[str]:
        found = await asyncio.gather(
            self.conversations.running(self.user_id, now),
            self.drafts.running(self.user_id),
            self.approvals.executing(self.user_id),
        )
        return set().union(*found)

    async def braked(self, run_ids: Collection[str]) -> set[str]:
        stopped = await asyncio.gather(
            self.messages.braked(self.user_id, run_ids), self.drafts.stopped(self.user_id, run_ids)
        )
        return set().union(*stopped)


async def engage(signals: Signals, whose: str, runs: Runs, clock: Clock) -> PauseStatus:
    """Turn the brake on (`whose`: a user id or `EVERYBODY`), wait until none of `runs` runs, and store the receipt."""
    caught = await runs.running(clock())
    await signals.brake_on(whose, clock())
    pulled = await signals.brake(whose)
    left = await runs.running(clock())
    caught |= left
    for _ in range(round(PATIENCE_SECONDS / LOOK_SECONDS)):
        if not left:
            break
        await asyncio.sleep(LOOK_SECONDS)
        left = await runs.running(clock())
    over = caught - left
    stopped = await runs.braked(over) if over else set[str]()
    if pulled:
        # Engaging again adds to the receipt of the first time.
        earlier = Receipt.model_validate(pulled.receipt) if pulled.receipt else Receipt()
        stopped |= set(earlier.stopped)
        finished = (over | set(earlier.finished)) - stopped
        receipt = Receipt(stopped=_sorted(stopped), finished=_sorted(finished), running=_sorted(left))
        await signals.keep_receipt(whose, pulled.since, receipt.model_dump(mode="json"))
    return await status(signals, whose)


async def check(signals: Signals, user_id: str) -> None:
    """Read the brake now. Raises `Braked`, and errors of the database."""
    await asyncio.gather(signals.check_brake(user_id), signals.check_brake(EVERYBODY))


async def abort_if_paused(signals: Signals, user_id: str, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`. If the brake is on or cannot be read, `work` does not start or is cancelled, and the
    error is raised."""
    try:
        await check(signals, user_id)
    except BaseException:
        work.close()
        raise
    working, watching = asyncio.ensure_future(work), asyncio.ensure_future(_watch(signals, user_id))
    try:
        await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        return await watching  # it only ends by raising
    finally:
        for task in (working, watching):
            task.cancel()
            with suppress(BaseException):
                await task


async def _watch(signals: Signals, user_id: str) -> Any:
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        await check(signals, user_id)


def _sorted(runs: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted(runs))
