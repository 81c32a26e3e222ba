"""Runs of a process follow their signals, and end if these cannot be read."""

import asyncio
import gc
from dataclasses import dataclass, field
from typing import Any

import pytest
from pymongo.errors import AutoReconnect

from qwestly_agent.base.errors import Braked, DataGone
from qwestly_agent.base.observability import cause_of, make_logger
from qwestly_agent.chat.services import TurnRegistry
from qwestly_agent.stores.messages import ClaimedConversation, NewTurn
from tests.servers import USER, FakeClock

pytestmark = pytest.mark.anyio


class Signals:
    """Replaces the store."""

    def __init__(self, answer: Exception | set[str]) -> None:
        self.answer = answer
        self.readings: list[str] = []

    async def list_stopped(self, user_id: str, run_ids: Any) -> set[str]:
        self.readings.append(user_id)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def claim_of(run_id: str, started_at: float, user_id: str = USER) -> ClaimedConversation:
    turn = NewTurn(run_id, "m", "Hi", started_at)
    return ClaimedConversation(user_id, "c", turn, "default", "chat", 0, 0, None, 0, 0, None, ())


@dataclass
class Naps:
    """Simulated time that passes during sleeps, until `seconds` are over."""

    clock: FakeClock
    seconds: float
    over: asyncio.Event = field(default_factory=asyncio.Event)
    slept: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        if sum(self.slept) + seconds > self.seconds:
            self.over.set()
            await asyncio.Event().wait()
        self.slept.append(seconds)
        self.clock.advance(seconds)
        await asyncio.sleep(0)


def registry(signals: Any, clock: FakeClock, sleep: Any) -> TurnRegistry:
    nothing: Any = object()
    return TurnRegistry(signals, nothing, clock, make_logger("CRITICAL"), sleep)


async def nothing_said() -> None: ...


async def at_once(_: float) -> None:
    await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("signals", "error"),
    [(Signals(AutoReconnect("gone")), DataGone), (Signals(Braked()), Braked), (Signals({"run"}), None)],
    ids=["unreadable", "braked", "stopped"],
)
async def test_a_turn_ends_as_its_signals_require(signals: Any, error: type[Exception] | None) -> None:
    clock, cancelled = FakeClock(), asyncio.Event()
    with registry(signals, clock, at_once).watching(claim_of("run", clock.now), cancelled.set, nothing_said) as watched:
        await asyncio.wait_for(cancelled.wait(), 5)
    assert watched.stopped is (error is None)
    assert watched.error is None if error is None else isinstance(watched.error, error)


async def test_a_turn_ended_by_unreadable_signals_names_the_cause() -> None:
    clock, cancelled = FakeClock(), asyncio.Event()
    turns = registry(Signals(AutoReconnect("gone")), clock, at_once)
    with turns.watching(claim_of("run", clock.now), cancelled.set, nothing_said) as watched:
        await asyncio.wait_for(cancelled.wait(), 5)
    assert watched.error
    assert cause_of(watched.error)["cause"] == ["SignalsUnread", "AutoReconnect"]


@pytest.mark.parametrize(("seconds", "often", "seldom"), [(5.0, 16, 0), (10.0, 17, 9)])
async def test_signals_are_read_often_in_a_turns_first_seconds_and_seldom_afterwards(
    seconds: float, often: int, seldom: int
) -> None:
    clock, signals = FakeClock(), Signals(set())
    naps = Naps(clock, seconds)
    with registry(signals, clock, naps).watching(claim_of("run", clock.now), lambda: None, nothing_said):
        await asyncio.wait_for(naps.over.wait(), 5)
    assert naps.slept == [0.3] * often + [0.5] * seldom
    assert signals.readings == [USER] * (often + seldom), "one reading for stop and brakes, every time"


async def test_a_users_turns_share_signal_reads_at_the_youngest_turns_rate() -> None:
    clock, signals = FakeClock(), Signals(set())
    naps = Naps(clock, 1.0)
    turns = registry(signals, clock, naps)
    with (
        turns.watching(claim_of("old", clock.now - 60), lambda: None, nothing_said),
        turns.watching(claim_of("young", clock.now), lambda: None, nothing_said),
        turns.watching(claim_of("other", clock.now - 60, "auth0|other"), lambda: None, nothing_said),
    ):
        await asyncio.wait_for(naps.over.wait(), 5)
    assert naps.slept == [0.3] * 3
    assert sorted(signals.readings) == sorted([USER, "auth0|other"] * 3)


@pytest.mark.thorough
async def test_the_watcher_may_end_at_any_moment() -> None:
    clock = FakeClock()
    for moments in range(10):
        watcher = registry(Signals(set()), clock, at_once)
        before = asyncio.all_tasks()
        with watcher.watching(claim_of("run", clock.now), lambda: None, nothing_said):
            for _ in range(moments):
                await asyncio.sleep(0)
            begun = asyncio.all_tasks() - before
            assert begun
            for task in begun:
                task.cancel()
            await asyncio.gather(*begun, return_exceptions=True)
    gc.collect()  # a coroutine that was never awaited warns now


async def test_no_signals_are_read_once_no_turn_is_running() -> None:
    clock, signals = FakeClock(), Signals(set())
    watcher = registry(signals, clock, at_once)
    before = asyncio.all_tasks()
    with watcher.watching(claim_of("run", clock.now), lambda: None, nothing_said):
        begun = asyncio.all_tasks() - before
        await asyncio.sleep(0)  # it checks, and sleeps
    await asyncio.wait_for(asyncio.gather(*begun), 5)
    assert begun
    assert not signals.readings
