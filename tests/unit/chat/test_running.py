"""What runs in a process heeds its signals, and does not run where they cannot be read."""

import asyncio
from typing import Any

import pytest
from pymongo.errors import AutoReconnect

from qwestly_agent.authority.model import EVERYBODY
from qwestly_agent.chat import running
from qwestly_agent.chat.running import Running
from qwestly_agent.errors import Braked, DataGone
from qwestly_agent.observability import make_logger
from qwestly_agent.stores.conversations import Claim, NewTurn
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
    monkeypatch.setattr(running, "POLL_SECONDS", 0.001)
    clock, cancelled, nothing = FakeClock(), asyncio.Event(), object()
    claim = Claim(USER, "c", NewTurn("run", "m", "Hi", clock.now), "default", 0, 0, None, 0, 0, ())
    watcher = Running(signals, nothing, clock, make_logger("CRITICAL"))  # pyright: ignore[reportArgumentType]
    with watcher.watching(claim, cancelled.set) as watched:
        await asyncio.wait_for(cancelled.wait(), 5)
    assert watched.stopped is (error is None)
    assert watched.error is None if error is None else isinstance(watched.error, error)
