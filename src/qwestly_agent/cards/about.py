"""A LinkedIn About section: written, grounded and once rewritten, within one call of a tool."""

from collections.abc import Sequence

from qwestly_agent.bootstrap import FullHouse
from qwestly_agent.cards.drafting import Order, write_section
from qwestly_agent.cards.evidence import gather
from qwestly_agent.cards.model import Card, CheckedCard, SectionDraft, Style
from qwestly_agent.cards.outline import LINKEDIN_ABOUT
from qwestly_agent.cards.pipeline import NothingSupported, NothingToTell
from qwestly_agent.stores.drafts import Draft

LONGEST_CHARACTERS = 2_600
"""LinkedIn's own limit."""


async def write_about(house: FullHouse, draft: Draft, style: Style, wishes: Sequence[str]) -> CheckedCard:
    """What of it is supported, kept as that draft. Raises `NothingToTell`, `NothingSupported` and what
    `one_answer` raises."""
    gathered = await gather(house, draft.user_id)
    found = {each.evidence.id: each.evidence for each in gathered}
    if not any(item.publishable for item in found.values()):
        raise NothingToTell
    preferences = [each.evidence.text for each in gathered if each.is_preference]
    order = Order(LINKEDIN_ABOUT, style, found, [*preferences, *wishes])
    section = await write_section(house, draft.user_id, order, _keep_nothing)
    sections = (section.standing,) if section.standing.claims else ()
    checked = CheckedCard(card=Card(style=style, headline=None, sections=sections), left_out=section.left_out)
    if not sections:
        raise NothingSupported
    evidence = [item.model_dump(mode="json") for item in found.values()]
    card = {"round": 1, "checked": checked.model_dump(mode="json")}
    await house.drafts.add(draft.model_copy(update={"parts": {"evidence": evidence, "card": card}}))
    return checked


async def _keep_nothing(_: SectionDraft) -> None:
    """A call of a tool is not delivered again."""


def text_of(checked: CheckedCard) -> str:
    """The claims in a row, as many as LinkedIn takes."""
    text = ""
    for claim in checked.card.claims:
        longer = f"{text} {claim.text}".strip()
        if len(longer) > LONGEST_CHARACTERS:
            break
        text = longer
    return text
