"""Verdicts of the looks on labelled claims, compared with the labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from evals.claims import TODAY, Case
from qwestly_agent.grounding.ground import check, ground
from qwestly_agent.grounding.judge import Judge
from qwestly_agent.grounding.model import GroundingVerdict

Fate: TypeAlias = Literal["refused", "open", "passed"]
"""`open`: unread or unchecked, so that somebody must still look."""
STATEMENTS_AT_ONCE = 10
"""About as many as a section of a card has."""


@dataclass(frozen=True)
class Judged:
    """A case with what became of it."""

    case: Case
    verdict: GroundingVerdict
    fate: Fate

    @property
    def wrong(self) -> bool:
        """A true claim that is refused, or a lie that passes."""
        return self.fate == ("refused" if self.case.true else "passed")


def by_code(case: Case) -> Judged:
    """Verdict of looks 1 and 2 alone. A claim that they have nothing against counts as passed."""
    verdict = check(case.statement, case.sources, TODAY)
    return Judged(case, verdict, "refused" if verdict.outcome == "refused" else "open" if verdict.unread else "passed")


async def by_judge(cases: Sequence[Case], judge: Judge) -> list[Judged]:
    """Verdicts of all three looks; the judge is asked about some claims of one person at a time."""
    fates: dict[str, Fate] = {"supported": "passed", "refused": "refused", "unchecked": "open"}
    found: list[Judged] = []
    for some in _batches(cases):
        verdicts = await ground([case.statement for case in some], some[0].sources, judge, TODAY)
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
