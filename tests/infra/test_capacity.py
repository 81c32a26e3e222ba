"""What 50,000 users need is less than what prod allows."""

from dataclasses import replace

from benchmarks.capacity import Limits, Load, simulate
from infra.stages import Stage

LIMITS = Limits.of(Stage.load("prod"))


def test_fifty_thousand_users_need_less_than_what_prod_allows() -> None:
    assert [row.what for row in simulate(Load(), LIMITS) if not row.holds] == []


def test_work_beyond_a_sweeps_limit_waits_and_is_told() -> None:
    rows = simulate(Load(), replace(LIMITS, conversations_a_sweep=40, nights=LIMITS.nights[:1]))
    assert {row.what for row in rows if not row.holds} == {
        "conversations read for memories",
        "the longest wait to be read, beside the ten minutes of silence",
        "the longest wait for a night",
    }
