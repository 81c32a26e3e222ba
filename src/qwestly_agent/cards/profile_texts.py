"""Profile texts (an About section, headlines): each is one section, written within one tool call."""

from collections.abc import Sequence
from typing import Protocol, cast

from qwestly_agent.approvals.forget_in_drafts import drop_forgotten
from qwestly_agent.cards.card_state import NothingSupported, NothingToTell
from qwestly_agent.cards.evidence import gather
from qwestly_agent.cards.outline import Outlined
from qwestly_agent.cards.write_section import DraftServices, Order, write_section
from qwestly_agent.domain.card import Card, CheckedCard, Section, SectionDraft, Style
from qwestly_agent.services import HasKnowledge, HasProfiles
from qwestly_agent.stores.drafts import Draft


class ProfileTextServices(DraftServices, HasKnowledge, HasProfiles, Protocol): ...


async def write_profile_text(
    services: ProfileTextServices,
    draft: Draft,
    outlined: Outlined,
    wishes: Sequence[str],
    before: Section | None = None,
) -> CheckedCard:
    """Write the text, keep only its supported claims, and store it in the draft. Raises `NothingToTell`,
    `NothingSupported` and what `structured_output` raises."""
    style = cast(Style, draft.style)
    gathered = await gather(services.profiles, services.memories, services.knowledge, draft.user_id)
    found = {each.evidence.id: each.evidence for each in gathered}
    if not any(item.publishable for item in found.values()):
        raise NothingToTell
    preferences = [each.evidence.text for each in gathered if each.is_preference]
    order = Order(outlined, style, found, [*preferences, *wishes], before)
    section = await write_section(services, draft.user_id, order, _keep_nothing)
    sections = (section.standing,) if section.standing.claims else ()
    checked = CheckedCard(card=Card(style=style, headline=None, sections=sections), left_out=section.left_out)
    if not sections:
        raise NothingSupported
    evidence = [item.model_dump(mode="json") for item in found.values()]
    card = {"round": 1, "checked": checked.model_dump(mode="json")}
    await services.drafts.add(draft.model_copy(update={"parts": {"evidence": evidence, "card": card}}))
    await drop_forgotten(services.memories, services.drafts, draft.user_id, draft.id)
    return checked


async def _keep_nothing(_: SectionDraft) -> None:
    """A tool call is not retried, so there is no progress to store."""
