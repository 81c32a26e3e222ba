"""What runs in a process heeds its signals, and does not run where they cannot be read."""

import asyncio
import gc
from typing import Any

import pytest
from pymongo.errors import AutoReconnect

from qwestly_agent.base.errors import Braked, DataGone
from qwestly_agent.base.observability import make_logger
from qwestly_agent.chat import turn_registry
from qwestly_agent.chat.turn_registry import TurnRegistry
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.stores.turns import ClaimedConversation, NewTurn
from tests.servers import USER, FakeClock

pytestmark = pytest.mark.anyio


class Signals:
    """In place of the store: each reading has its own answer."""

    def __init__(self, own: Exception | set[str], everybody: Exception | None = None) -> None:
        self.own, self.everybody = own, everybody

    async def stopped(self, user_id: str, run_ids: Any) -> set[str]:
        if isinstance(self.own, Exception):
            raise self.own
        return self.own

    async def check_brake(self, user_id: str) -> None:
        assert user_id == EVERYBODY
        if self.everybody:
            raise self.everybody


@pytest.mark.parametrize(
    ("signals", "error"),
    [
        (Signals(AutoReconnect("gone")), DataGone),
        (Signals(set(), AutoReconnect("gone")), DataGone),
        (Signals(Braked()), Braked),
        (Signals(set(), Braked()), Braked),
        (Signals({"run"}), None),
    ],
    ids=["unreadable", "everybody's unreadable", "braked", "everybody braked", "stopped"],
)
async def test_a_turn_ends_as_its_signals_say(
    signals: Any, error: type[Exception] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_registry, "POLL_SECONDS", 0.001)
    clock, cancelled, nothing = FakeClock(), asyncio.Event(), object()
    claim = ClaimedConversation(USER, "c", NewTurn("run", "m", "Hi", clock.now), "default", 0, 0, None, 0, 0, ())
    watcher = TurnRegistry(signals, nothing, clock, make_logger("CRITICAL"))  # pyright: ignore[reportArgumentType]
    with watcher.watching(claim, cancelled.set) as watched:
        await asyncio.wait_for(cancelled.wait(), 5)
    assert watched.stopped is (error is None)
    assert watched.error is None if error is None else isinstance(watched.error, error)


async def test_what_watches_can_end_at_any_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_registry, "POLL_SECONDS", 0)
    claim = ClaimedConversation(USER, "c", NewTurn("run", "m", "Hi", FakeClock().now), "default", 0, 0, None, 0, 0, ())
    for moments in range(10):
        watcher = TurnRegistry(Signals(set()), object(), FakeClock(), make_logger("CRITICAL"))  # pyright: ignore[reportArgumentType]
        before = asyncio.all_tasks()
        with watcher.watching(claim, lambda: None):
            for _ in range(moments):
                await asyncio.sleep(0)
            begun = asyncio.all_tasks() - before
            assert begun
            for task in begun:
                task.cancel()
            await asyncio.gather(*begun, return_exceptions=True)
    gc.collect()  # a coroutine that nobody awaited tells so now


async def test_where_no_turn_runs_any_more_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_registry, "POLL_SECONDS", 0)
    claim = ClaimedConversation(USER, "c", NewTurn("run", "m", "Hi", FakeClock().now), "default", 0, 0, None, 0, 0, ())
    asked: list[str] = []

    class Counting(Signals):
        async def check_brake(self, user_id: str) -> None:
            asked.append(user_id)

    watcher = TurnRegistry(Counting(set()), object(), FakeClock(), make_logger("CRITICAL"))  # pyright: ignore[reportArgumentType]
    before = asyncio.all_tasks()
    with watcher.watching(claim, lambda: None):
        begun = asyncio.all_tasks() - before
        await asyncio.sleep(0)  # it looks, and rests
    await asyncio.wait_for(asyncio.gather(*begun), 5)
    assert begun
    assert not asked
