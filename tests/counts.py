"""How often the tests repeat what they generate. `TEST_COUNTS` says it: `small` in `make test`, `full` in
`.ci/nightly`, `usual` otherwise."""

import os
from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")

COUNTS: Mapping[str, int] = {"small": 0, "usual": 1, "full": 2}
SIZE = COUNTS[os.environ.get("TEST_COUNTS") or "usual"]


def count(usual: int, full: int, small: int | None = None) -> int:
    return (usual if small is None else small, usual, full)[SIZE]


def sample(items: Iterable[T], usual: int) -> list[T]:
    """So many of them, evenly drawn from the first on; in `.ci/nightly` all."""
    every = list(items)
    wanted = count(usual, len(every))
    return [every[place * len(every) // wanted] for place in range(wanted)]
