"""The claim gate: what a card says must be said by the evidence that it cites.

It is deterministic: no model, no clock, no locale. Each kind of fact has a file that finds it in a claim and looks for
it in the cited evidence: `numbers`, `dates`, `names` (with skills and languages), `titles` (with degrees), `verbs`,
and here superlatives, denials, and who did what where. In doubt it refuses, and says what was missing.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date

from aws_lambda_powertools import Logger

from qwestly_agent.cards.dates import check_dates
from qwestly_agent.cards.lexicon import GUARDED, STOP
from qwestly_agent.cards.model import Card, CheckedCard, Claim, EvidenceById, LeftOut, Section, Verdict
from qwestly_agent.cards.names import check_names
from qwestly_agent.cards.numbers import check_numbers
from qwestly_agent.cards.passages import Passage, passages
from qwestly_agent.cards.quantities import quantities
from qwestly_agent.cards.reading import Read, cited_by, read_evidence
from qwestly_agent.cards.titles import check_degrees, check_titles
from qwestly_agent.cards.verbs import check_verbs
from qwestly_agent.observability import Event, cause_of

NOT_CHECKED = "This could not be checked, so it was left out."

_GUARDED = {phrase[0]: [f" {other}{end} " for other in phrase for end in ("", "s")] for phrase in GUARDED}
_NONE = re.compile(r"\W*none\b", re.IGNORECASE)
_HARMLESS = re.compile(
    r" (?:first (?:aid|hand|degree|line|responders?|contact|floor|year|grade|name|time)"
    r"|at first|best practices?|top of|record keeping|patient records?) "
)


def check_claim(claim: Claim, evidence: EvidenceById, today: date) -> Verdict:
    """Whether the evidence that the claim cites says what it says; `today` is when what goes on is measured."""
    return _check(claim, evidence, {}, today)


def check_card(card: Card, evidence: EvidenceById, today: date, logger: Logger) -> CheckedCard:
    """The card without what is not supported, and without sections that are empty then.

    A claim whose check fails is left out, and the cause logged: the other claims stand without it.
    """
    read: dict[str, Read] = {}
    left_out: list[LeftOut] = []
    confirmed: list[Claim] = []

    def verdict_on(claim: Claim, is_heading: bool = False) -> Verdict:
        try:
            return _check(claim, evidence, read, today, is_heading)
        except Exception as error:
            logger.error(Event.CHECK_FAILED, extra=cause_of(error))
            return Verdict(missing=(NOT_CHECKED,))

    def kept(claim: Claim) -> bool:
        verdict = verdict_on(claim)
        if not verdict.supported:
            left_out.append(LeftOut(claim=claim, why=verdict.missing))
        elif verdict.confirmed_by:
            confirmed.append(claim)
        return verdict.supported

    headline = card.headline if card.headline and kept(card.headline) else None
    sections: list[Section] = []
    for section in card.sections:
        if claims := tuple(filter(kept, section.claims)):
            heading = Claim(text=section.heading, evidence=tuple({name: 1 for c in claims for name in c.evidence}))
            if why := verdict_on(heading, is_heading=True).missing:
                left_out.append(LeftOut(claim=heading, why=why))
                heading = Claim(text=section.kind.replace("_", " ").capitalize())
            sections.append(section.model_copy(update={"heading": heading.text, "claims": claims}))
    checked = card.model_copy(update={"headline": headline, "sections": tuple(sections)})
    return CheckedCard(card=checked, left_out=tuple(left_out), confirmed=tuple(confirmed))


def _check(
    claim: Claim, evidence: EvidenceById, read: dict[str, Read], today: date, is_heading: bool = False
) -> Verdict:
    """`read` holds the evidence that was read for other claims, and then also what was read for this one."""
    cited = [evidence[name] for name in claim.evidence if name in evidence]
    confirmed = tuple(item.id for item in cited if item.publishable and item.by_person)
    read |= {name: read_evidence(evidence[name]) for name in claim.evidence if name in evidence and name not in read}
    missing = tuple(_citation(claim, evidence)) or _missing(
        claim.text, cited_by(claim, evidence, read), today, is_heading
    )
    if missing and any(item.publishable for item in cited) and not all(item.publishable for item in cited):
        missing += ("What was inferred, or came from outside, supports nothing by itself.",)
    return Verdict(missing=missing, confirmed_by=confirmed)


def _citation(claim: Claim, evidence: EvidenceById) -> Iterator[str]:
    if not claim.evidence:
        yield "It cites no evidence."
    for name in claim.evidence:
        if name not in evidence:
            yield f'It cites "{name}", which is no evidence of this person.'
    cited = [evidence[name] for name in claim.evidence if name in evidence]
    if cited and not any(item.publishable for item in cited):
        origins = ", ".join(dict.fromkeys(item.source for item in cited))
        yield f"All that it cites was inferred or came from outside ({origins}): that supports nothing by itself."


def _missing(text: str, cited: Read, today: date, is_heading: bool = False) -> tuple[str, ...]:
    parts = passages(text)
    organisations = frozenset[str]().union(*(part.keys for part in parts)) & cited.organisations
    denied = frozenset[str]().union(*(part.stems for part in parts if part.voice == "denies"))
    missing = [why for part in parts for why in _missing_of(part, cited, organisations, denied, today)]
    if not is_heading and not any(_touches(part, passage) for part in parts for passage in cited.passages):
        missing.append("Nothing in the cited sources speaks of this.")
    return tuple(dict.fromkeys(missing))


def _touches(part: Passage, passage: Passage) -> bool:
    """Whether they have so much as a word in common, or both give numbers."""
    shared = not part.stems.isdisjoint(passage.stems) or bool((part.keys & passage.keys) - STOP)
    return shared or bool(quantities(part) and quantities(passage))


def _missing_of(
    part: Passage, cited: Read, organisations: frozenset[str], denied: frozenset[str], today: date
) -> Iterator[str]:
    known = [passage for passage in cited.passages if passage.voice in _HEARD[part.voice]]
    # What happened at one employer is no evidence of what happened at another.
    there = [p for p in known if not organisations or not p.about or p.about & organisations]
    yield from check_numbers(part, there + _denied_alike(denied, cited.passages), today)
    yield from check_dates(part, there)
    yield from check_names(part, known)
    yield from check_titles(part, there)
    yield from check_degrees(part, known)
    yield from check_verbs(part, there)
    yield from _superlatives(part, known)
    if part.voice == "denies":
        yield from _denied(part, cited.passages)


_HEARD = {"says": ("says",), "denies": ("says", "denies"), "wishes": ("says", "wishes")}


def _superlatives(claim: Passage, evidence: Sequence[Passage]) -> Iterator[str]:
    words = _HARMLESS.sub(" ", claim.plain)
    for phrase, others in _GUARDED.items():
        if f" {phrase} " in words and not any(other in passage.plain for passage in evidence for other in others):
            yield f'No cited source says "{phrase}".'


def _denied_alike(denied: frozenset[str], evidence: Sequence[Passage]) -> list[Passage]:
    """ "No accidents for three years" says what "three years without an accident" says."""
    return [passage for passage in evidence if passage.voice == "denies" and passage.stems & denied]


def _denied_in(passage: Passage) -> frozenset[str]:
    """What it denies: in "filing deadlines; none missed" that stands before it."""
    before = Passage(passage.subject, "says").stems if _NONE.match(passage.text) else frozenset[str]()
    return passage.stems | before


def _denied(claim: Passage, evidence: Sequence[Passage]) -> Iterator[str]:
    told = frozenset[str]().union(*(_denied_in(passage) for passage in evidence if passage.voice == "denies"))
    if not {root for root in claim.stems if not root.isdigit()} & told:
        yield f'No cited source says "{claim.text.strip(" ,.")}".'
