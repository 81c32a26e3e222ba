"""The brake: everything of a user that runs is stopped, nothing begins, and what waits for a person goes on waiting."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Literal

from pydantic import BaseModel, ConfigDict

from qwestly_agent.clock import Clock
from qwestly_agent.stores.signals import Brake, Signals

PATIENCE_SECONDS = 30.0
"""After which the receipt says what could not be stopped."""
LOOK_SECONDS = 0.1

State = Literal["running", "pausing", "paused", "partial"]


class Receipt(BaseModel):
    """Of runs, by their ids: what the brake stopped, what had finished by itself, and what it could not stop."""

    model_config = ConfigDict(frozen=True)

    stopped: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    running: tuple[str, ...] = ()


class Standing(BaseModel):
    """Whether the agent may run, as its user sees it."""

    model_config = ConfigDict(frozen=True)

    state: State
    since: float | None = None
    """Seconds since the epoch."""
    receipt: Receipt | None = None
    """None while it is not yet known."""
    everybody: bool = False
    """Whether operators have pulled the brake for all users."""


def standing_of(brake: Brake | None, everybody: Brake | None) -> Standing:
    if brake is None and everybody is None:
        return Standing(state="running")
    pulled = brake or everybody
    assert pulled
    receipt = Receipt.model_validate(pulled.receipt) if pulled.receipt is not None else None
    state: State = "pausing" if receipt is None else "partial" if receipt.running else "paused"
    return Standing(state=state, since=pulled.since, receipt=receipt, everybody=everybody is not None)


async def pull(
    signals: Signals,
    whose: str,
    running: Callable[[], Awaitable[Collection[str]]],
    stopped_of: Callable[[Collection[str]], Awaitable[Collection[str]]],
    clock: Clock,
) -> Receipt:
    """Brake `whose` runs (a user's or `EVERYBODY`'s), wait until none runs, and keep the receipt. `stopped_of` says
    which of the runs that are over were stopped."""
    caught = set(await running())
    await signals.brake_on(whose, clock())
    left = set(await running())
    caught |= left
    for _ in range(round(PATIENCE_SECONDS / LOOK_SECONDS)):
        if not left:
            break
        await asyncio.sleep(LOOK_SECONDS)
        left = set(await running())
    over = caught - left
    stopped = set(await stopped_of(over)) if over else set()
    receipt = Receipt(stopped=_sorted(stopped), finished=_sorted(over - stopped), running=_sorted(left))
    await signals.keep_receipt(whose, receipt.model_dump(mode="json"))
    return receipt


def _sorted(runs: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted(runs))
