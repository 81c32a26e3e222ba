"""The table of authority, cell by cell."""

from typing import get_args

import pytest

from qwestly_agent.approvals.gate import TABLE, gate
from qwestly_agent.domain.approval import Answer, Effect, Level

EXPECTED: dict[Effect, list[Answer]] = {
    "read": ["run", "run", "run", "run"],
    "draft": ["run", "run", "run", "run"],
    "memory": ["ask", "ask", "queue", "ask"],
    "write": ["refuse", "ask", "queue", "run"],
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


def test_what_others_see_runs_by_itself_only_at_the_highest_level_and_where_it_can_be_taken_back() -> None:
    answers = {level: gate("outward", level, has_inverse=True).answer for level in get_args(Level)}
    assert answers == {"L0": "refuse", "L1": "ask", "L2": "queue", "L3": "run"}
    assert gate("destructive", "L3", has_inverse=True).answer == "ask"


@pytest.mark.parametrize("has_inverse", [False, True])
@pytest.mark.parametrize("effect", ["write", "outward", "destructive"])
def test_a_strangers_text_in_the_prompt_takes_the_highest_level_back_to_asking(
    effect: Effect, has_inverse: bool
) -> None:
    assert gate(effect, "L3", has_inverse=has_inverse, untrusted_content=True).answer == "ask"


@pytest.mark.parametrize("level", ["L0", "L1", "L2"])
def test_a_strangers_text_loosens_nothing(level: Level) -> None:
    for effect in get_args(Effect):
        assert gate(effect, level, has_inverse=True, untrusted_content=True).answer == gate(effect, level).answer
