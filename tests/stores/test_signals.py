"""What must reach a run that is under way."""

import asyncio

import pytest
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.stores.search import Document
from qwestly_agent.stores.signals import REMEMBERED_STOPS, Brake, Signals
from tests.servers import USER

pytestmark = pytest.mark.anyio


@pytest.fixture
def signals(database: AsyncDatabase[Document]) -> Signals:
    return Signals(database)


async def test_nothing_is_stopped_until_somebody_says_so(signals: Signals) -> None:
    assert await signals.stopped(USER, ["r1"]) == set()


async def test_a_run_is_stopped_and_no_other(signals: Signals) -> None:
    await signals.stop(USER, "r1")
    await signals.stop(USER, "r3")
    assert await signals.stopped(USER, ["r1", "r2", "r3"]) == {"r1", "r3"}


async def test_nobody_stops_anothers_run(signals: Signals) -> None:
    await signals.stop("auth0|stranger", "r1")
    assert await signals.stopped(USER, ["r1"]) == set()


async def test_stopping_twice_is_stopping(signals: Signals) -> None:
    await asyncio.gather(*(signals.stop(USER, "r1") for _ in range(5)))
    assert await signals.stopped(USER, ["r1"]) == {"r1"}


async def test_the_stops_that_were_read_long_ago_are_forgotten(signals: Signals) -> None:
    for n in range(REMEMBERED_STOPS + 1):
        await signals.stop(USER, f"r{n}")
    assert await signals.stopped(USER, ["r0", "r1", f"r{REMEMBERED_STOPS}"]) == {"r1", f"r{REMEMBERED_STOPS}"}


async def test_a_receipt_that_comes_after_the_release_pulls_no_brake(signals: Signals) -> None:
    await signals.brake_on(USER, 1.0)
    await signals.keep_receipt(USER, 1.0, {"stopped": ["r1"]})
    assert await signals.brake(USER) == Brake(1.0, {"stopped": ["r1"]})
    await signals.brake_off(USER)
    await signals.keep_receipt(USER, 1.0, {"stopped": ["r2"]})
    assert await signals.brake(USER) is None


async def test_a_receipt_of_an_earlier_brake_is_not_that_of_the_next(signals: Signals) -> None:
    await signals.brake_on(USER, 1.0)
    await signals.brake_off(USER)
    await signals.brake_on(USER, 2.0)
    await signals.keep_receipt(USER, 1.0, {"stopped": ["r1"]})
    assert await signals.brake(USER) == Brake(2.0)


async def test_a_brake_that_is_pulled_again_keeps_its_first_moment(signals: Signals) -> None:
    await signals.brake_on(USER, 1.0)
    await signals.brake_on(USER, 2.0)
    assert await signals.brake(USER) == Brake(1.0)
