"""Salience orders memories by their decayed importance, at any time."""

import math

from hypothesis import assume, given
from hypothesis import strategies as st

from qwestly_agent.domain.memory import TAU_SECONDS, present, salience

NOW = 1_800_000_000.0
IMPORTANCE = st.floats(0.01, 1)
CREATED = st.floats(NOW - 10 * TAU_SECONDS, NOW)


def decayed(importance: float, created_at: float, now: float) -> float:
    return importance * math.exp(-(now - created_at) / TAU_SECONDS)


@given(IMPORTANCE, CREATED, IMPORTANCE, CREATED, st.floats(0, 3 * TAU_SECONDS))
def test_memories_are_ordered_by_decayed_importance_now_and_later(
    importance: float, created: float, other: float, other_created: float, later: float
) -> None:
    mine, theirs = salience(importance, created), salience(other, other_created)
    assume(abs(mine - theirs) > 1e-9)
    for now in (NOW, NOW + later):
        assert (mine > theirs) == (decayed(importance, created, now) > decayed(other, other_created, now))


@given(st.floats(-1, 2), CREATED)
def test_an_out_of_range_importance_is_clamped(importance: float, created: float) -> None:
    assert salience(0.01, created) <= salience(importance, created) <= salience(1, created)


def test_the_newer_of_two_equally_important_memories_comes_first() -> None:
    assert salience(0.5, NOW) > salience(0.5, NOW - 1)


@given(IMPORTANCE, CREATED)
def test_stored_importance_decays_to_todays_value(importance: float, created: float) -> None:
    assert math.isclose(present(salience(importance, created), NOW), decayed(importance, created, NOW), rel_tol=1e-6)


def test_importance_decays_by_a_factor_of_e_in_ninety_days() -> None:
    assert math.isclose(salience(1 / math.e, NOW), salience(1, NOW - TAU_SECONDS))
