"""Compare two runs case by case: cases lost, cases won, and the probability that the difference is chance."""

from collections.abc import Iterator
from dataclasses import dataclass

from evals.outcomes import Run, by_case
from evals.statistics import mcnemar

SURE = 0.05


@dataclass(frozen=True)
class Compared:
    dataset: str
    both: int
    """Number of cases in both runs."""
    lost: tuple[str, ...]
    won: tuple[str, ...]
    p: float

    @property
    def verdict(self) -> str:
        if self.p >= SURE:
            return "no difference that is sure"
        return "worse" if len(self.lost) > len(self.won) else "better"


def compare(before: Run, now: Run) -> Iterator[Compared]:
    """Compare each dataset. A case counts once, by the majority of its samples, because samples of one case are not
    independent."""
    for dataset in now.datasets:
        old, new = by_case(before.of(dataset)), by_case(now.of(dataset))
        both = [key for key in new if key in old]
        lost = tuple(case for _, case in (key for key in both if old[key] and not new[key]))
        won = tuple(case for _, case in (key for key in both if new[key] and not old[key]))
        if both:
            yield Compared(dataset, len(both), lost, won, mcnemar(len(lost), len(won)))
