"""A person's positions: those in the profile, and those only in the résumé, latest first."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qwestly_agent.cards.resume_evidence import header_of, is_position
from qwestly_agent.domain.card import Claim, Evidence, Fields
from qwestly_agent.jobs.same_job import bare_company, bare_title

EMPLOYMENT = "employment:"
_DATE = re.compile(r"(?:19|20)\d\d(?:-\d\d)?")
_NOW = "9999"


@dataclass(frozen=True)
class Position:
    evidence: tuple[Evidence, ...]
    """The profile's evidence comes first."""

    @property
    def heading(self) -> str:
        return ", ".join(filter(None, (self._fields.title, self._fields.company)))

    @property
    def time(self) -> str:
        return " – ".join(filter(None, (self._fields.start, self._fields.end)))

    @property
    def header(self) -> str:
        """The résumé's words that name the position; empty if the profile has it."""
        return header_of(self.evidence[0]) if is_position(self.evidence[0]) else ""

    @property
    def _fields(self) -> Fields:
        return self.evidence[0].fields

    @property
    def latest_first(self) -> tuple[str, str]:
        return _date_in(self._fields.end) or _NOW, _date_in(self._fields.start)

    def is_quoted_in(self, claim: Claim) -> bool:
        return any(each.id in claim.evidence for each in self.evidence)

    def is_named_in(self, words: str) -> bool:
        return bool(self._fields.company) and self._fields.company.casefold() in words

    def is_also(self, other: Evidence) -> bool:
        """True if this part of the résumé is about the same position: the same employer, and either the same title and
        first year, or the same period. In doubt it is another position, because a duplicate is noticed sooner than a
        missing one."""
        mine, theirs = self._fields, other.fields
        if bare_company(mine.company) != bare_company(theirs.company):
            return False
        began, theirs_began = _date_in(mine.start), _date_in(theirs.start)
        if bare_title(mine.title) == bare_title(theirs.title):
            return _agree(began[:4], theirs_began[:4])
        ended, theirs_ended = _date_in(mine.end) or _NOW, _date_in(theirs.end) or _NOW
        return bool(began and theirs_began) and _agree(began, theirs_began) and _agree(ended, theirs_ended)


def positions_of(evidence: Mapping[str, Evidence]) -> list[Position]:
    known = [Position((each,)) for name, each in evidence.items() if name.startswith(EMPLOYMENT)]
    more: list[Position] = []
    for each in filter(is_position, evidence.values()):
        place = next((number for number, position in enumerate(known) if position.is_also(each)), None)
        if place is None:
            more.append(Position((each,)))
        else:
            known[place] = Position((*known[place].evidence, each))
    # The profile's order is kept if nothing is added.
    return sorted([*known, *more], key=lambda each: each.latest_first, reverse=True) if more else known


def _date_in(date: str) -> str:
    """Return YYYY or YYYY-MM; empty if there is no date."""
    found = _DATE.search(date)
    return found[0] if found else ""


def _agree(one: str, other: str) -> bool:
    """Compare at the lower precision: 2021 and 2021-03 are equal."""
    return one.startswith(other) or other.startswith(one)


def position_of(claim: Claim, positions: Sequence[Position]) -> Position | None:
    """Return the position that the claim quotes, otherwise the only one whose employer it names."""
    said = " ".join([claim.text, *(quote.text for quote in claim.quotes)]).casefold()
    quoted = [each for each in positions if each.is_quoted_in(claim)]
    found = quoted or [each for each in positions if each.is_named_in(said)]
    return found[0] if len(found) == 1 else None
