"""Compare the verdicts of the three checks on labelled claims with the labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from evals.claims import Case
from qwestly_agent.grounding.ground import check, ground
from qwestly_agent.grounding.judge import Judge
from qwestly_agent.grounding.model import GroundingVerdict

Fate: TypeAlias = Literal["refused", "open", "passed"]
"""`open`: not parsed or not judged, so that a person must still decide."""
STATEMENTS_AT_ONCE = 10
"""About as many claims as a section of a card has."""


@dataclass(frozen=True)
class Judged:
    """A case with its verdict."""

    case: Case
    verdict: GroundingVerdict
    fate: Fate

    @property
    def wrong(self) -> bool:
        """True if a true claim was rejected, or a false one passed."""
        return self.fate == ("refused" if self.case.true else "passed")


def by_code(case: Case) -> Judged:
    """Run checks 1 and 2 only. A claim that neither rejects counts as passed."""
    verdict = check(case.statement, case.sources)
    return Judged(case, verdict, "refused" if verdict.outcome == "refused" else "open" if verdict.unread else "passed")


async def by_judge(cases: Sequence[Case], judge: Judge) -> list[Judged]:
    """Run all three checks. The judge gets a few claims of one person at a time."""
    fates: dict[str, Fate] = {"supported": "passed", "refused": "refused", "unchecked": "open"}
    found: list[Judged] = []
    for some in _batches(cases):
        verdicts = await ground([case.statement for case in some], some[0].sources, judge)
        found += [Judged(case, each, fates[each.outcome]) for case, each in zip(some, verdicts, strict=True)]
    return found


def _batches(cases: Sequence[Case]) -> list[list[Case]]:
    batches: list[list[Case]] = []
    for case in cases:
        if batches and batches[-1][0].sources is case.sources and len(batches[-1]) < STATEMENTS_AT_ONCE:
            batches[-1].append(case)
        else:
            batches.append([case])
    return batches
