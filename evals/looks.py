"""What the looks say about a claim, and whether they are wrong."""

from dataclasses import dataclass
from datetime import date
from typing import Literal, TypeAlias

from evals.claims import TODAY, Case
from qwestly_agent.grounding.facts import check_facts
from qwestly_agent.grounding.model import Verdict
from qwestly_agent.grounding.quotes import find_quote

Fate: TypeAlias = Literal["refused", "open", "passed"]
"""`open`: unread or unchecked, so that somebody must still look."""


@dataclass(frozen=True)
class Judged:
    """A case with what became of it."""

    case: Case
    verdict: Verdict
    fate: Fate

    @property
    def wrong(self) -> bool:
        """A true claim that is refused, or a lie that passes."""
        return self.fate == ("refused" if self.case.true else "passed")


def by_code(case: Case) -> Judged:
    """What looks 1 and 2 make of it. What they leave to the judge without a word has passed them."""
    verdict = _check(case, TODAY)
    return Judged(case, verdict, "refused" if verdict.outcome == "refused" else "open" if verdict.unread else "passed")


def _check(case: Case, today: date) -> Verdict:
    """The one place that knows how the looks are called."""
    found = [find_quote(quote, case.sources) for quote in case.statement.quotes]
    whole = [each for each in found if each]
    if len(whole) < len(found):
        return Verdict(outcome="refused", reasons=("A quote does not stand in its source.",))
    facts = check_facts(case.statement, whole, today)
    outcome = "refused" if facts.missing else "unchecked"
    return Verdict(outcome=outcome, reasons=facts.missing, arithmetic=facts.arithmetic, unread=facts.unread)
