"""The brake's state according to the stored signals, and how often they are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, cast

import pytest

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.pause import (
    OFTEN_SECONDS,
    OFTEN_UNTIL_SECONDS,
    PATIENCE_SECONDS,
    SELDOM_SECONDS,
    Pause,
    Receipt,
    polling_interval,
)
from qwestly_agent.stores.runs import RunningWork, Sweeps
from qwestly_agent.stores.user_settings import Signal, Signals

OFF, ON = Signal(), Signal(brake_since=10.0)


def with_receipt(since: float = 10.0, *, is_on: bool = True, **runs: tuple[str, ...]) -> Signal:
    receipt = Receipt(**runs).model_dump(mode="json")
    return Signal(brake_since=10.0 if is_on else None, released_at=None, receipt=receipt, receipt_since=since)


@pytest.mark.parametrize(
    ("own", "everybody", "now", "state"),
    [
        (OFF, OFF, 11.0, "running"),
        (OFF, ON, 11.0, "paused"),
        (ON, OFF, 11.0, "pausing"),
        (with_receipt(), OFF, 11.0, "paused"),
        (with_receipt(stopped=("a",), finished=("b",)), OFF, 11.0, "paused"),
        (with_receipt(running=("a",)), OFF, 10.0 + PATIENCE_SECONDS - 0.1, "pausing"),
        (with_receipt(running=("a",)), OFF, 10.0 + PATIENCE_SECONDS, "partial"),
        (with_receipt(unknown=("a",)), OFF, 11.0, "partial"),
        (with_receipt(since=9.0), OFF, 11.0, "pausing"),
        (with_receipt(is_on=False), OFF, 11.0, "running"),
        (with_receipt(is_on=False), ON, 11.0, "paused"),
    ],
)
def test_the_brakes_state_is_that_of_its_receipt(own: Signal, everybody: Signal, now: float, state: str) -> None:
    status = Pause(own, everybody).status(now)
    assert status.state == state
    assert status.everybody is (everybody is ON)
    assert status.since == (own.brake_since or everybody.brake_since)


def test_a_receipt_is_shown_until_the_next_brake() -> None:
    kept = with_receipt(is_on=False, stopped=("a",))
    assert Pause(kept, OFF).receipt == Receipt(stopped=("a",))
    assert Pause(with_receipt(since=9.0), OFF).receipt is None
    assert Pause(OFF, with_receipt()).receipt is None, "that of everybody names others' runs"


@pytest.mark.parametrize(("own", "everybody", "is_on"), [(OFF, OFF, False), (ON, OFF, True), (OFF, ON, True)])
def test_a_users_or_the_global_brake_is_enough(own: Signal, everybody: Signal, is_on: bool) -> None:
    assert Pause(own, everybody).is_on is is_on


def test_the_last_change_of_either_brake_is_shown() -> None:
    assert Pause(OFF, OFF).changed_at == 0.0
    assert Pause(Signal(brake_since=5.0, released_at=4.0), Signal(released_at=3.0)).changed_at == 5.0
    assert Pause(Signal(released_at=4.0), Signal(brake_since=6.0)).changed_at == 6.0
    assert Pause(Signal(released_at=4.0), Signal(released_at=7.0)).changed_at == 7.0


@pytest.mark.parametrize(
    ("age", "seconds"), [(0.0, OFTEN_SECONDS), (OFTEN_UNTIL_SECONDS - 0.1, OFTEN_SECONDS), (5.0, SELDOM_SECONDS)]
)
def test_a_young_run_checks_the_brake_more_often(age: float, seconds: float) -> None:
    assert OFTEN_SECONDS < SELDOM_SECONDS
    assert polling_interval(age) == seconds


def test_work_is_checked_often_at_first_and_without_end() -> None:
    waits = list(islice(pause._intervals(), 100))
    often = waits.index(SELDOM_SECONDS)
    assert sum(waits[:often]) == pytest.approx(OFTEN_UNTIL_SECONDS, abs=OFTEN_SECONDS)
    assert set(waits[:often]) == {OFTEN_SECONDS}
    assert set(waits[often:]) == {SELDOM_SECONDS}


@pytest.mark.parametrize(
    ("runs", "is_complete"),
    [({}, True), ({"stopped": ("a",)}, True), ({"unknown": ("a",)}, False), ({"running": ("a",)}, False)],
)
def test_a_receipt_is_complete_once_nothing_is_running(runs: dict[str, Any], is_complete: bool) -> None:
    assert Receipt(**runs).is_complete is is_complete


@dataclass
class Kept:
    """The stored signals and work of one user."""

    own: Signal = ON
    work: RunningWork = field(default_factory=RunningWork)
    stopped: frozenset[str] = frozenset()
    briefing: str | None = None

    async def read(self, _: str) -> tuple[Signal, Signal]:
        return self.own, OFF

    async def save_receipt(self, _: str, since: float, receipt: Mapping[str, Any], edits: int) -> bool:
        self.own = replace(self.own, receipt=receipt, receipt_since=since, receipt_edits=edits + 1)
        return True

    async def running_work(self, *_: Any) -> RunningWork:
        return self.work

    async def stopped_work(self, *_: Any) -> set[str]:
        return set(self.stopped)

    async def planned_briefing(self, _: str) -> str | None:
        return self.briefing

    async def receipt(self) -> Receipt | None:
        signals, sweeps = cast(Signals, self), cast(Sweeps, self)
        return (await pause.status(signals, sweeps, "u", lambda: 11.0)).receipt


def work_of(running: str = "", executing: str = "", unknown: str = "") -> RunningWork:
    return RunningWork(*(frozenset(each) for each in (running, executing, unknown)))


@pytest.mark.anyio
async def test_a_receipt_follows_each_run_to_its_end() -> None:
    kept = Kept(work=work_of("ab", "e", "u"), briefing="briefing-1")
    assert await kept.receipt() == Receipt(running=("a", "b"), unknown=("e", "u"), waiting=("briefing-1",))
    kept.work, kept.stopped, kept.briefing = work_of("b", "", "u"), frozenset("a"), None
    assert await kept.receipt() == Receipt(stopped=("a",), finished=("e",), running=("b",), unknown=("u",))
    kept.work = work_of()
    assert await kept.receipt() == Receipt(stopped=("a",), finished=("b", "e", "u"))


@pytest.mark.anyio
async def test_a_receipt_adds_no_new_runs_after_the_release() -> None:
    kept = Kept(work=work_of("a", "", "u"))
    await kept.receipt()
    kept.own = replace(kept.own, brake_since=None, released_at=11.0)
    kept.work, kept.stopped = work_of("c", "d", "u"), frozenset("ax")
    assert await kept.receipt() == Receipt(stopped=("a",), unknown=("u",))
