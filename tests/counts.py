"""How often the tests repeat generated cases. `TEST_COUNTS` sets it: `small` in `make test`, `full` in `.ci/nightly`,
`usual` otherwise."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

COUNTS: Mapping[str, int] = {"small": 0, "usual": 1, "full": 2}
SIZE = COUNTS[os.environ.get("TEST_COUNTS") or "usual"]


def count(usual: int, full: int, small: int | None = None) -> int:
    return (usual if small is None else small, usual, full)[SIZE]


def sample(items: Iterable[T], usual: int) -> list[T]:
    """Return the usual number of items, evenly drawn; all of them in `.ci/nightly`."""
    every = list(items)
    wanted = count(usual, len(every))
    return [every[place * len(every) // wanted] for place in range(wanted)]


def everyday(number: int, cases: Iterable[Any]) -> list[Any]:
    """For `parametrize`: so many of the cases, evenly drawn from the first on, run every day; the others are thorough,
    and run if what they test has changed. It is for cases that differ in their text and run the same code."""
    every = list(cases)
    chosen = {place * len(every) // number for place in range(number)}
    return [each if place in chosen else _thorough(each) for place, each in enumerate(every)]


def _thorough(case: Any) -> Any:
    if hasattr(case, "marks"):  # of `pytest.param`
        return case._replace(marks=[*case.marks, pytest.mark.thorough])
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.thorough)
