"""The table of authority, cell by cell."""

import re
from pathlib import Path
from typing import get_args

import pytest

from qwestly_agent.approvals.autonomy import TABLE, UNASKED, gate
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
def test_each_cell_of_the_gate_is_as_designed_and_has_a_reason(effect: Effect, place: int, level: Level) -> None:
    decision = gate(effect, level)
    assert decision.answer == EXPECTED[effect][place]
    assert decision.reason.endswith(".")


def test_the_gate_table_has_no_other_cells() -> None:
    assert set(TABLE) == set(get_args(Effect))
    assert all(set(row) == set(get_args(Level)) for row in TABLE.values())


@pytest.mark.parametrize("effect", get_args(Effect))
@pytest.mark.parametrize("level", get_args(Level))
def test_a_requested_change_runs_only_at_the_highest_level(effect: Effect, level: Level) -> None:
    answer = gate(effect, level, is_requested=True).answer
    assert answer == ("run" if (level, effect) == ("L3", "write") else gate(effect, level).answer)


STRINGS = Path(__file__).parents[3] / "widget/src/strings.ts"
SUBJECTS = "your profile, your cards, or your applications"
AT_ONCE = (
    "Your agent changes your profile and your list of applications right away when you plainly ask for it, and you can "
    "undo it for a day. All else, and anything others can see, waits for your approval."
)
SENTENCES: dict[tuple[Answer, Answer, Answer], str] = {
    ("refuse", "refuse", "refuse"): f"Your agent suggests and drafts. It can’t change {SUBJECTS}.",
    ("ask", "ask", "ask"): f"Your agent drafts on its own, and asks before it changes {SUBJECTS}.",
    ("queue", "queue", "queue"): f"Changes to {SUBJECTS} wait in your approvals while your agent keeps working.",
    ("run", "ask", "ask"): AT_ONCE,
}
"""Sentences by the table's results if the newest message asks for the change."""


@pytest.mark.parametrize("level", get_args(Level))
def test_the_settings_description_of_a_level_matches_the_table(level: Level) -> None:
    write = gate("write", level, is_requested=True).answer
    outward, destructive = gate("outward", level, is_requested=True).answer, TABLE["destructive"][level]
    shown = re.findall(rf'{level}: \{{ name: "\w+", means: "(.+)" \}}', STRINGS.read_text())
    assert shown == [SENTENCES[write, outward, destructive]]
    assert set(UNASKED) <= {"write"}
