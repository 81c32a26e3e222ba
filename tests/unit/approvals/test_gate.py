"""The table of authority, cell by cell."""

from typing import get_args

import pytest

from qwestly_agent.approvals.gate import TABLE, gate
from qwestly_agent.domain.approval import Answer, Effect, Level

EXPECTED: dict[Effect, list[Answer]] = {
    "read": ["run", "run", "run", "run"],
    "draft": ["run", "run", "run", "run"],
    "memory": ["ask", "ask", "queue", "ask"],
    "write": ["refuse", "ask", "queue", "ask"],
    "outward": ["refuse", "ask", "queue", "ask"],
    "destructive": ["refuse", "ask", "queue", "ask"],
}


@pytest.mark.parametrize("effect", get_args(Effect))
@pytest.mark.parametrize(("place", "level"), list(enumerate(get_args(Level))))
def test_each_cell_is_as_designed_and_says_why(effect: Effect, place: int, level: Level) -> None:
    decision = gate(effect, level)
    assert decision.answer == EXPECTED[effect][place]
    assert decision.reason.endswith(".")


def test_the_table_has_no_other_cells() -> None:
    assert set(TABLE) == set(get_args(Effect))
    assert all(set(row) == set(get_args(Level)) for row in TABLE.values())


@pytest.mark.parametrize("effect", get_args(Effect))
@pytest.mark.parametrize("level", get_args(Level))
def test_what_was_asked_for_runs_at_the_highest_level_alone_and_loosens_nothing_else(
    effect: Effect, level: Level
) -> None:
    answer = gate(effect, level, asked_for=True).answer
    assert answer == ("run" if (level, effect in ("write", "outward")) == ("L3", True) else gate(effect, level).answer)
