"""What the brake's receipt says of the runs that it met."""

import dataclasses
from collections.abc import Collection
from typing import Any

import pytest

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.pause import Receipt
from qwestly_agent.stores.signals import Brake
from tests.servers import USER, FakeClock

pytestmark = pytest.mark.anyio


@dataclasses.dataclass
class Signals:
    """In place of the store."""

    kept: dict[str, Brake] = dataclasses.field(default_factory=dict)

    async def brake(self, user_id: str) -> Brake | None:
        return self.kept.get(user_id)

    async def brake_on(self, user_id: str, now: float) -> None:
        self.kept[user_id] = Brake(now)

    async def keep_receipt(self, user_id: str, since: float, receipt: dict[str, Any]) -> None:
        assert self.kept[user_id].since == since
        self.kept[user_id] = dataclasses.replace(self.kept[user_id], receipt=receipt)


@dataclasses.dataclass
class Runs:
    """What runs at each look, the last of them from then on; and what the brake ended."""

    looks: list[set[str]]
    ended: set[str]

    async def running(self, now: float) -> set[str]:
        return set(self.looks.pop(0) if len(self.looks) > 1 else self.looks[0])

    async def braked(self, run_ids: Collection[str]) -> set[str]:
        return self.ended & set(run_ids)


@pytest.mark.parametrize(
    ("looks", "ended", "receipt"),
    [
        ([set()], set(), Receipt()),
        ([{"a", "b"}, {"a", "b"}, set()], {"a", "b"}, Receipt(stopped=("a", "b"))),
        ([{"a", "b"}, {"b"}, set()], {"b"}, Receipt(stopped=("b",), finished=("a",))),
        ([set(), {"late"}, set()], {"late"}, Receipt(stopped=("late",))),
        ([{"a", "deaf"}, {"a", "deaf"}, {"deaf"}], {"a"}, Receipt(stopped=("a",), running=("deaf",))),
    ],
    ids=["nothing ran", "all stopped", "one finished by itself", "one began meanwhile", "one could not be stopped"],
)
async def test_every_run_is_told_as_what_became_of_it(
    looks: list[set[str]], ended: set[str], receipt: Receipt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pause, "PATIENCE_SECONDS", 0.005)
    monkeypatch.setattr(pause, "LOOK_SECONDS", 0.001)
    told = await pause.engage(Signals(), USER, Runs(looks, ended), FakeClock())  # pyright: ignore[reportArgumentType]
    assert told.receipt == receipt
    assert told.state == ("partial" if receipt.running else "paused")
