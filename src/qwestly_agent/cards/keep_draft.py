"""Assemble the card from its sections, and ask the gate whether to request approval for its publication.

From here on the card does not change: the approval refers to this version.
"""

from collections.abc import Mapping

from qwestly_agent.approvals.ask import find_contact_details
from qwestly_agent.approvals.autonomy import gate
from qwestly_agent.cards.by_position import by_position
from qwestly_agent.cards.card_state import CardState, NothingSupported, update_progress
from qwestly_agent.cards.contacts import without_contacts
from qwestly_agent.cards.draft_parts import evidence_of, section_draft
from qwestly_agent.cards.evidence import sources_of
from qwestly_agent.cards.forget import drop_forgotten
from qwestly_agent.cards.outline import HEADLINE, OUTLINES, usual_heading
from qwestly_agent.cards.text import UNCHANGED, is_same_text, text_before_wish
from qwestly_agent.domain.approval import Answer
from qwestly_agent.domain.card import Card, CheckedCard, Claim, LeftOut, Section
from qwestly_agent.grounding.facts import check_facts
from qwestly_agent.grounding.model import QuotedSource, Statement
from qwestly_agent.grounding.quotes import find_quote
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import TAILORED, Draft
from qwestly_agent.text.language import language_of
from qwestly_agent.workflow_state import state

LONGEST_HEADLINE = 300


@state(CardState)
async def keep_draft(services: Services, card: CardState) -> CardState:
    """Return the state with the gate's answer. Raises `NothingSupported`."""
    draft = await drop_forgotten(services, card.user_id, card.draft_id)
    details = await find_contact_details(services.knowledge, services.resumes, card.user_id)
    checked = without_contacts(checked_card(draft, card.round), details)
    # A job document is not published; applying with it requires its own approval.
    level = await services.autonomy.level(card.user_id)
    answer: Answer = "refuse" if draft.kind in TAILORED else gate("outward", level).answer
    if draft.parts.get("card", {}).get("round") != card.round:
        before = await text_before_wish(services.drafts, draft)
        unchanged = before is not None and is_same_text(draft.kind, before, checked)
        kept = {"round": card.round, "checked": checked.model_dump(mode="json"), "unchanged": unchanged}
        await update_progress(
            services.drafts,
            services.clock,
            card,
            status="drafted" if answer == "refuse" else "running",
            label=_drafted(checked, is_asked=answer != "refuse", unchanged=unchanged),
        )
        await services.drafts.save_parts(card.user_id, card.draft_id, card=kept)
        await drop_forgotten(services, card.user_id, card.draft_id)
    if not checked.card.sections:
        raise NothingSupported
    return card.model_copy(update={"answer": answer})


def _drafted(checked: CheckedCard, *, is_asked: bool, unchanged: bool) -> str:
    left_out = len(checked.left_out)
    claims = "1 claim" if left_out == 1 else f"{left_out} claims"
    label = f"Draft ready. We left out {claims} we couldn’t support" if left_out else "Drafted"
    return f"{label}. {UNCHANGED}" if unchanged and not is_asked else label  # the approval shows it to the user


def checked_card(draft: Draft, round: int) -> CheckedCard:
    """Assemble the sections of this round into a card, in reading order, without sections that have no claims."""
    kept = [each for kind in draft.parts["plan"] if (each := section_draft(draft, kind)) and each.round == round]
    evidence = evidence_of(draft)
    sources = sources_of(evidence)
    standing = (each.standing(sources) for each in kept)
    sections = [_with_checked_heading(each, sources) for each in standing if each.claims]
    headlines = [claim for each, _ in sections if each.kind == HEADLINE for claim in each.claims]
    headline = next((claim for claim in headlines if len(claim.text) <= LONGEST_HEADLINE), None)
    rest = by_position([each for each, _ in sections if each.kind != HEADLINE], evidence)
    left_out = [*(out for each in kept for out in each.left_out), *(out for _, why in sections for out in why)]
    if headlines and headline is None:
        left_out.append(LeftOut(claim=headlines[0], why=(f"It is longer than {LONGEST_HEADLINE} characters.",)))
    card = Card.model_validate({"style": draft.style, "headline": headline, "sections": rest})
    return CheckedCard(card=card, left_out=tuple(left_out)).merged


def _with_checked_heading(section: Section, sources: Mapping[str, QuotedSource]) -> tuple[Section, tuple[LeftOut, ...]]:
    """Replace a heading with the usual one if it has figures that are not in its claims' quotes, as headings have no
    quotes."""
    found = [spot for claim in section.claims for quote in claim.quotes if (spot := find_quote(quote, sources))]
    heading = Statement(text=section.heading, language=language_of(section.heading))
    facts = check_facts(heading, found)
    why = (*facts.missing, *(f"“{figure}” was compared with nothing." for figure in facts.unread))
    if not why:
        return section, ()
    usual = usual_heading(OUTLINES[section.kind], " ".join(claim.text for claim in section.claims))
    return section.model_copy(update={"heading": usual}), (LeftOut(claim=Claim(text=section.heading), why=why),)
