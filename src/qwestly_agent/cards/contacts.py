"""Leave out drafted claims that contain contact details from the user's documents."""

from collections.abc import Sequence

from qwestly_agent.approvals.ask import LEFT_OUT
from qwestly_agent.cards.outline import OUTLINES, usual_heading
from qwestly_agent.domain.card import CheckedCard, Claim, LeftOut, Section
from qwestly_agent.grounding.model import GroundingVerdict
from qwestly_agent.text.contacts import ContactDetails, contacts_in

HIDDEN = Claim(text="A claim")
"""Replaces a claim with contact details, so that neither a judge nor a draft gets its text."""
HAS_CONTACTS = GroundingVerdict(outcome="refused", refused_by="facts", reasons=(LEFT_OUT,))


def hide_contacts(claims: Sequence[Claim], details: ContactDetails) -> tuple[Claim, ...]:
    gone = details.places_in([claim.text for claim in claims])
    gone |= {n for n, claim in enumerate(claims) if any(details.stand_in(quote.text) for quote in claim.quotes)}
    return tuple(HIDDEN if number in gone else claim for number, claim in enumerate(claims))


def without_contacts(checked: CheckedCard, details: ContactDetails) -> CheckedCard:
    """Leave out claims with contact details in their text or quotes, or spread over neighboring claims, and list them
    without their text. A heading with contact details is replaced by the usual one."""
    card = checked.card
    lines = [("", card.headline)] if card.headline else []
    for section in card.sections:
        lines += [(section.heading, None), *(("", claim) for claim in section.claims)]
    texts = [claim.text if claim else heading for heading, claim in lines]
    gone = details.places_in(texts) | {number for number, text in enumerate(texts) if _is_reachable(text)}
    gone |= {n for n, (_, claim) in enumerate(lines) if claim and any(details.stand_in(q.text) for q in claim.quotes)}
    left_out = tuple(
        each.model_copy(update={"claim": HIDDEN}) if details.stand_in(each.claim.text) else each
        for each in checked.left_out
    )
    if not gone:
        return checked.model_copy(update={"left_out": left_out})
    numbers = iter(range(len(lines)))
    headline = card.headline if card.headline is None or next(numbers) not in gone else None
    sections = list[Section]()
    for section in card.sections:
        keeps_heading = next(numbers) not in gone
        claims = tuple(claim for claim in section.claims if next(numbers) not in gone)
        usual = usual_heading(OUTLINES[section.kind], " ".join(claim.text for claim in claims))
        heading = section.heading if keeps_heading else usual
        sections.append(section.model_copy(update={"heading": heading, "claims": claims}))
    kept = card.model_copy(update={"headline": headline, "sections": tuple(each for each in sections if each.claims)})
    return CheckedCard(card=kept, left_out=left_out + (LeftOut(claim=HIDDEN, why=(LEFT_OUT,)),) * len(gone))


def _is_reachable(text: str) -> bool:
    """True for an e-mail address or telephone number, whoever owns it."""
    return any(each.kind in ("email", "phone") for each in contacts_in(text))
