"""A LinkedIn About section: written, checked and once written again, within one call of a tool."""

from collections.abc import Mapping
from dataclasses import replace

from qwestly_agent.bootstrap import FullHouse
from qwestly_agent.cards.drafting import Order, written
from qwestly_agent.cards.evidence import gather
from qwestly_agent.cards.gate import check_card
from qwestly_agent.cards.model import Card, CheckedCard, Evidence, Section, Style
from qwestly_agent.cards.outline import LINKEDIN_ABOUT
from qwestly_agent.cards.pipeline import NothingSupported, NothingToTell, why_left_out
from qwestly_agent.clock import to_datetime
from qwestly_agent.stores.drafts import Draft

LONGEST_CHARACTERS = 2_600
"""LinkedIn's own limit."""


async def write_about(house: FullHouse, draft: Draft, style: Style) -> CheckedCard:
    """What of it is supported, kept as that draft. Raises `NothingToTell`, `NothingSupported` and what
    `one_answer` raises."""
    found = {each.evidence.id: each.evidence for each in await gather(house, draft.user_id)}
    if not any(item.publishable for item in found.values()):
        raise NothingToTell
    checked = await _written_and_checked(house, draft.user_id, Order(LINKEDIN_ABOUT, style, found))
    if not checked.card.sections:
        raise NothingSupported
    evidence = [item.model_dump(mode="json") for item in found.values()]
    card = {"round": 1, "checked": checked.model_dump(mode="json")}
    await house.drafts.add(draft.model_copy(update={"parts": {"evidence": evidence, "card": card}}))
    return checked


def text_of(checked: CheckedCard) -> str:
    """The claims in a row, as many as LinkedIn takes."""
    text = ""
    for claim in (claim for section in checked.card.sections for claim in section.claims):
        longer = f"{text} {claim.text}".strip()
        if len(longer) > LONGEST_CHARACTERS:
            break
        text = longer
    return text


async def _written_and_checked(house: FullHouse, user_id: str, order: Order) -> CheckedCard:
    section = await written(house, user_id, order)
    checked = _checked(house, order.evidence, order.style, section)
    if missing := list(why_left_out(checked, section)):
        section = await written(house, user_id, replace(order, before=section, missing=missing))
        checked = _checked(house, order.evidence, order.style, section)
    return checked


def _checked(house: FullHouse, evidence: Mapping[str, Evidence], style: Style, section: Section) -> CheckedCard:
    card = Card(style=style, headline=None, sections=(section,))
    return check_card(card, evidence, to_datetime(house.clock()).date(), house.logger)
