"""How many cases of a test run every day."""

from typing import Any

import pytest

from tests.counts import everyday

CASES = [
    ("a", 1),
    ("b", 2),
    pytest.param("c", 3, id="third"),
    ("d", 4),
    pytest.param("e", 5, marks=pytest.mark.nightly),
]


def marks_of(case: Any) -> list[str]:
    return [mark.name for mark in getattr(case, "marks", ())]


def test_an_even_sample_of_cases_runs_daily_and_the_rest_is_thorough() -> None:
    chosen = everyday(2, CASES)
    assert [marks_of(case) for case in chosen] == [[], ["thorough"], [], ["thorough"], ["nightly", "thorough"]]
    assert [tuple(getattr(case, "values", case)) for case in chosen] == [
        (letter, n) for n, letter in enumerate("abcde", 1)
    ]
    assert chosen[2].id == "third"


def test_a_case_of_one_value_stays_one_value() -> None:
    _, other = everyday(1, ["word", "another"])
    assert other.values == ("another",)
