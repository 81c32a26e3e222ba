"""Profile texts (an About section, headlines): each is one section, written within one tool call.

The answers of the writer and the judge are stored in the draft, as for a card's sections, so that nothing is paid for
twice after an interrupted attempt.
"""

from typing import cast

from qwestly_agent.approvals.ask import find_contact_details
from qwestly_agent.cards.card_state import NothingSupported, NothingToTell
from qwestly_agent.cards.contacts import without_contacts
from qwestly_agent.cards.draft_parts import evidence_of, section_draft, style_requests
from qwestly_agent.cards.evidence import gather, sources_of
from qwestly_agent.cards.forget import drop_forgotten
from qwestly_agent.cards.outline import Outlined
from qwestly_agent.cards.text import is_same_text, text_before_wish
from qwestly_agent.cards.write_section import SectionOrder, write_section
from qwestly_agent.domain.card import Card, CheckedCard, SectionDraft, Style
from qwestly_agent.services import ModelServices
from qwestly_agent.stores.drafts import Draft


async def write_profile_text(
    services: ModelServices, draft: Draft, outlined: Outlined, revised: CheckedCard | None = None
) -> Draft:
    """Write the text, or continue a stored one; keep only supported claims, and return the draft with it. `revised` is
    the user's change request. Raises `NothingToTell`, `NothingSupported` and what `structured_output` raises."""
    drafts, user_id, style = services.drafts, draft.user_id, cast(Style, draft.style)
    draft = await _going_on(services, draft) if "evidence" in draft.parts else await _with_evidence(services, draft)

    async def keep(section: SectionDraft) -> None:
        part = {f"section_{outlined.kind}": section.model_dump(mode="json")}
        if not await drafts.add(draft.model_copy(update={"parts": {**draft.parts, **part}})):
            await drafts.save_parts(user_id, draft.id, **part)
        await drop_forgotten(services, user_id, draft.id)

    before = revised.card.sections[0] if revised else None
    details = await find_contact_details(services.knowledge, services.resumes, user_id)
    order = SectionOrder(outlined, style, evidence_of(draft), style_requests(draft), before, contacts=details)
    section = await write_section(services, user_id, order, keep, section_draft(draft, outlined.kind))
    card = Card(style=style, headline=None, sections=(section.standing(sources_of(order.evidence)),))
    checked = without_contacts(CheckedCard(card=card, left_out=section.left_out).merged, details)
    if not checked.card.claims:
        failed = {"status": "failed", "label": NothingSupported.sentence}
        await drafts.update(user_id, draft.id, services.clock(), **failed)
        raise NothingSupported
    earlier = revised or await text_before_wish(drafts, draft)
    unchanged = earlier is not None and is_same_text(draft.kind, earlier, checked)
    part = {"round": 1, "checked": checked.model_dump(mode="json"), "unchanged": unchanged}
    await drafts.save_parts(user_id, draft.id, card=part)
    await drafts.update(user_id, draft.id, services.clock(), status="drafted", label="Drafted")
    return await drop_forgotten(services, user_id, draft.id)


async def _with_evidence(services: ModelServices, draft: Draft) -> Draft:
    found = await gather(services, draft.user_id)
    if not any(each.evidence.publishable for each in found):
        raise NothingToTell
    evidence = [each.evidence.model_dump(mode="json") for each in found]
    wishes = [each.evidence.id for each in found if each.is_wish]
    return draft.model_copy(update={"parts": {**draft.parts, "evidence": evidence, "wishes": wishes}})


async def _going_on(services: ModelServices, draft: Draft) -> Draft:
    """Assign the draft to this run, and remove everything forgotten from its evidence."""
    told = draft.model_dump(include={"run_id", "conversation_id"})
    await drop_forgotten(services, draft.user_id, draft.id)
    await services.drafts.update(draft.user_id, draft.id, services.clock(), **told, flagged=False)
    return await services.drafts.get(draft.user_id, draft.id)
