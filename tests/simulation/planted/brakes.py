"""Mistakes in brakes and their receipts, and in levels."""

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from qwestly_agent.approvals import pause
from qwestly_agent.stores.runs import RunningWork, Sweeps
from qwestly_agent.stores.user_settings import SIGNALS, Autonomy, Signals
from tests.simulation.planted.plant import Plant, nothing


def _paused_anew() -> AbstractContextManager[Any]:
    """A second brake begins anew."""

    async def turn_brake_on(self: Signals, user_id: str, now: float) -> None:
        await original(self, user_id, now)
        here = {"_id": user_id, "user_id": user_id}
        await self.database[SIGNALS].update_one(here, {"$set": {"brake_since": round(now, 3)}})

    original = Signals.turn_brake_on
    return patch.object(Signals, "turn_brake_on", turn_brake_on)


def _receipt_written_anew() -> AbstractContextManager[Any]:
    """A receipt forgets what the earlier one named."""

    async def receipt_now(sweeps: Any, whose: str, clock: Any, caught: set[str], before: Any, since: float) -> Any:
        nothing = replace(before, own=replace(before.own, receipt=None))
        return await original(sweeps, whose, clock, caught, nothing, since)

    original = pause._receipt_now
    return patch.object(pause, "_receipt_now", receipt_now)


def _effects_not_named() -> AbstractContextManager[Any]:
    """A receipt leaves out effects with an unknown outcome."""

    async def running_work(self: Sweeps, whose: str, now: float) -> RunningWork:
        return replace(await original(self, whose, now), unknown=frozenset())

    original = Sweeps.running_work
    return patch.object(Sweeps, "running_work", running_work)


def _turns_not_named() -> AbstractContextManager[Any]:
    """A receipt names no turn of a conversation, and the brake waits for none."""

    async def running_work(self: Sweeps, whose: str, now: float) -> RunningWork:
        found = await original(self, whose, now)
        return replace(found, running=frozenset(each for each in found.running if not each[0].isdigit()))

    original = Sweeps.running_work
    return patch.object(Sweeps, "running_work", running_work)


def _resumed_in_vain() -> AbstractContextManager[Any]:
    return patch.object(Signals, "turn_brake_off", nothing)


def _level_set_in_vain() -> AbstractContextManager[Any]:
    return patch.object(Autonomy, "set_level", nothing)


PLANTS: tuple[Plant, ...] = (
    _paused_anew,
    _receipt_written_anew,
    _effects_not_named,
    _turns_not_named,
    _resumed_in_vain,
    _level_set_in_vain,
)
