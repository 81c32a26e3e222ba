"""Order the claims of a card by position: each is followed by its details and achievements."""

from collections.abc import Sequence
from itertools import chain

from qwestly_agent.cards.outline import ACHIEVEMENTS, EXPERIENCE
from qwestly_agent.domain.card import Claim, Evidence, EvidenceById, Section


def by_position(sections: Sequence[Section], evidence: EvidenceById) -> tuple[Section, ...]:
    """Move achievements below their position; those without a known position stay."""
    claims = {each.kind: each.claims for each in sections}
    positions = _positions(evidence)
    under: dict[str, list[Claim]] = {}
    for claim in claims.get(EXPERIENCE, ()):
        if (position := _named(claim, positions)) and position not in under:
            under[position] = [claim]
    named = [first for [first] in under.values()]
    rest: dict[str, list[Claim]] = {EXPERIENCE: [], ACHIEVEMENTS: []}
    for kind, left in rest.items():
        for claim in claims.get(kind, ()):
            if claim not in named:
                under.get(_position(claim, positions, evidence) or "", left).append(claim)
    new = {EXPERIENCE: (*chain.from_iterable(under.values()), *rest[EXPERIENCE]), ACHIEVEMENTS: (*rest[ACHIEVEMENTS],)}
    moved = (each.model_copy(update={"claims": new.get(each.kind, each.claims)}) for each in sections)
    return tuple(each for each in moved if each.claims)


def details(section: Section, evidence: EvidenceById) -> tuple[bool, ...]:
    """Return for each claim whether it is a detail of the position in an earlier claim."""
    positions, current = _positions(evidence), None
    found = list[bool]()
    for claim in section.claims if section.kind == EXPERIENCE else ():
        if named := _named(claim, positions):
            is_again, current = named == current, named
            found.append(is_again)
        else:
            found.append(current is not None and _position(claim, positions, evidence) == current)
    return tuple(found) or (False,) * len(section.claims)


def _positions(evidence: EvidenceById) -> dict[str, Evidence]:
    return {name: each for name, each in evidence.items() if each.kind == "employment" and each.fields.company}


def _named(claim: Claim, positions: EvidenceById) -> str | None:
    """Return the position that the claim quotes and names by title and employer."""
    said = claim.text.casefold()
    found = [
        name
        for name in claim.evidence
        if (each := positions.get(name)) and all(_in(said, word) for word in (each.fields.company, each.fields.title))
    ]
    return found[0] if len(found) == 1 else None


def _position(claim: Claim, positions: EvidenceById, evidence: EvidenceById) -> str | None:
    """Return the position that the claim quotes, or the only one whose employer is named in the claim or in the
    paragraphs of its quotes."""
    quoted = [name for name in positions if name in claim.evidence]
    said = "\n".join(
        [
            claim.text,
            *(_paragraph(each.text, evidence[each.source].text) for each in claim.quotes if each.source in evidence),
        ]
    )
    found = quoted or [name for name, each in positions.items() if _in(said.casefold(), each.fields.company)]
    return found[0] if len(found) == 1 else None


def _paragraph(quote: str, text: str) -> str:
    return next((each for each in text.split("\n\n") if quote in each), quote)


def _in(said: str, words: str) -> bool:
    return bool(words) and words.casefold() in said
