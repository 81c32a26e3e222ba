"""Signals that reach a running turn."""

import asyncio

import pytest
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.base.errors import Braked
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.platform.collection import Document
from qwestly_agent.stores.user_settings import STOPS_KEPT, Signal, Signals
from tests.servers import USER

pytestmark = pytest.mark.anyio


@pytest.fixture
def signals(database: AsyncDatabase[Document]) -> Signals:
    return Signals(database)


async def test_nothing_is_stopped_by_default(signals: Signals) -> None:
    assert await signals.list_stopped(USER, ["r1"]) == set()


async def test_only_the_given_run_is_stopped(signals: Signals) -> None:
    await signals.stop(USER, "r1")
    await signals.stop(USER, "r3")
    assert await signals.list_stopped(USER, ["r1", "r2", "r3"]) == {"r1", "r3"}


async def test_a_user_cannot_stop_another_users_run(signals: Signals) -> None:
    await signals.stop("auth0|stranger", "r1")
    assert await signals.list_stopped(USER, ["r1"]) == set()


async def test_stopping_is_idempotent(signals: Signals) -> None:
    await asyncio.gather(*(signals.stop(USER, "r1") for _ in range(5)))
    assert await signals.list_stopped(USER, ["r1"]) == {"r1"}


async def test_stops_read_long_ago_are_dropped(signals: Signals) -> None:
    for n in range(STOPS_KEPT + 1):
        await signals.stop(USER, f"r{n}")
    assert await signals.list_stopped(USER, ["r0", "r1", f"r{STOPS_KEPT}"]) == {"r1", f"r{STOPS_KEPT}"}


async def test_a_receipt_after_the_release_is_stored_without_setting_the_brake(signals: Signals) -> None:
    await signals.turn_brake_on(USER, 1.0)
    assert await signals.save_receipt(USER, 1.0, {"stopped": ["r1"]}, 0)
    await signals.turn_brake_off(USER, 2.0)
    assert await signals.save_receipt(USER, 1.0, {"stopped": ["r1", "r2"]}, 1)
    own, _ = await signals.read(USER)
    assert (own.brake_since, own.released_at) == (None, 2.0)
    assert (own.receipt_since, own.receipt) == (1.0, {"stopped": ["r1", "r2"]})


async def test_a_receipt_of_an_earlier_brake_does_not_belong_to_the_next(signals: Signals) -> None:
    await signals.turn_brake_on(USER, 1.0)
    await signals.turn_brake_off(USER, 1.5)
    await signals.turn_brake_on(USER, 2.0)
    assert await signals.save_receipt(USER, 2.0, {"stopped": ["r2"]}, 0)
    assert not await signals.save_receipt(USER, 1.0, {"stopped": ["r1"]}, 1)
    own, _ = await signals.read(USER)
    assert (own.brake_since, own.receipt_since, own.receipt) == (2.0, 2.0, {"stopped": ["r2"]})


async def test_a_receipt_is_stored_only_over_the_one_that_was_read(signals: Signals) -> None:
    await signals.turn_brake_on(USER, 1.0)
    assert await signals.save_receipt(USER, 1.0, {"running": ["r1"]}, 0)
    assert not await signals.save_receipt(USER, 1.0, {"running": []}, 0)
    own, _ = await signals.read(USER)
    assert (own.receipt, own.receipt_edits) == ({"running": ["r1"]}, 1)


async def test_a_brake_set_again_keeps_its_first_time(signals: Signals) -> None:
    await signals.turn_brake_on(USER, 1.0)
    await signals.turn_brake_on(USER, 2.0)
    assert (await signals.read(USER))[0].brake_since == 1.0


async def test_the_global_brake_is_read_with_a_users_own_signals(signals: Signals) -> None:
    await signals.stop(USER, "r1")
    await signals.turn_brake_on(EVERYBODY, 1.0)
    own, everybody = await signals.read(USER)
    assert (own.stopped_runs, own.brake_since, everybody.brake_since) == ({"r1"}, None, 1.0)
    with pytest.raises(Braked):
        await signals.list_stopped(USER, ["r1"])
    await signals.turn_brake_off(EVERYBODY, 2.0)
    assert await signals.list_stopped(USER, ["r1"]) == {"r1"}


async def test_releasing_without_a_brake_does_nothing(signals: Signals) -> None:
    await signals.turn_brake_off(USER, 1.0)
    assert (await signals.read(USER))[0] == Signal()
