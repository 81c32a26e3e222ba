"""Draft one section of this round. Models' answers are stored, so that a retry does not request them again."""

from typing import cast

from qwestly_agent.approvals.ask import find_contact_details
from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import ModelUnavailable
from qwestly_agent.cards.card_state import CardState
from qwestly_agent.cards.cover import words_of
from qwestly_agent.cards.draft_parts import advert_of, evidence_of, section_draft, style_requests
from qwestly_agent.cards.evidence import sources_of
from qwestly_agent.cards.forget import drop_forgotten
from qwestly_agent.cards.outline import OUTLINES, STYLES
from qwestly_agent.cards.write_section import SectionOrder, write_section
from qwestly_agent.domain.card import SectionDraft, Style
from qwestly_agent.services import ModelServices
from qwestly_agent.stores.drafts import Draft, Drafts
from qwestly_agent.workflow_state import state

MOST_TRIES = 3
"""Attempts to reach the judge for a section; after that its claims are marked as unchecked."""


@state(CardState)
async def draft_section(services: ModelServices, card: CardState) -> CardState:
    """Write, ground and store the section. Raises the errors of `structured_output`, and `ModelUnavailable` while
    attempts to reach the judge remain."""
    draft, name = await services.drafts.get(card.user_id, card.draft_id), f"section_{card.section}"
    kept = section_draft(draft, card.section)
    before = kept.standing(sources_of(evidence_of(draft))) if kept and kept.round < card.round else None
    kept = kept if kept and kept.round == card.round else None
    if kept and kept.done:
        return card

    async def keep(section: SectionDraft) -> None:
        numbered = section.model_copy(update={"round": card.round})
        await services.drafts.save_parts(card.user_id, card.draft_id, **{name: numbered.model_dump(mode="json")})
        await drop_forgotten(services, card.user_id, card.draft_id)

    order = SectionOrder(
        OUTLINES[card.section],
        _style(draft),
        evidence_of(draft),
        style_requests(draft),
        before,
        words_of(advert_of(draft)),
        await find_contact_details(services.knowledge, services.resumes, card.user_id),
    )
    section = await write_section(services, card.user_id, order, keep, kept)
    tries = section.tries + section.unchecked
    if section.unchecked and tries < MOST_TRIES:
        await keep(section.model_copy(update={"tries": tries}))
        raise ModelUnavailable
    await keep(section.model_copy(update={"tries": tries, "done": True}))
    await _tell_sections(services.drafts, services.clock, card)
    return card


async def _tell_sections(drafts: Drafts, clock: Clock, card: CardState) -> None:
    draft = await drafts.get(card.user_id, card.draft_id)
    plan = draft.parts["plan"]
    sections = (section_draft(draft, kind) for kind in plan)
    done = sum(bool(each and each.done and each.round == card.round) for each in sections)
    if draft.status == "running" and done < len(plan):  # another process may have ended it meanwhile
        label = f"Drafting {done + 1} of {len(plan)} sections"
        await drafts.update(card.user_id, card.draft_id, clock(), label=label)


def _style(draft: Draft) -> Style:
    return cast(Style, draft.style) if draft.style in STYLES else "standard"
