"""What 50,000 users need is less than what prod allows, and the documents say how much, and what it costs."""

from dataclasses import replace
from pathlib import Path

from benchmarks import costs
from benchmarks.capacity import Limits, Load, simulate, table
from infra.stages import Stage

LIMITS = Limits.of(Stage.load("prod"))
PAGE = Path(__file__).parents[2] / "docs/capacity.md"


def test_fifty_thousand_users_need_less_than_what_prod_allows() -> None:
    assert [row.what for row in simulate(Load(), LIMITS) if not row.holds] == []


def test_the_documents_have_the_tables_as_they_are_computed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert table(Load(), LIMITS) in page
    assert costs.tables() in page


def test_what_a_sweep_cannot_take_waits_and_is_told() -> None:
    rows = simulate(Load(), replace(LIMITS, conversations_a_sweep=40, nights=LIMITS.nights[:1]))
    assert {row.what for row in rows if not row.holds} == {
        "conversations read for memories",
        "the longest wait to be read, beside the ten minutes of silence",
        "the longest wait for a night",
    }
