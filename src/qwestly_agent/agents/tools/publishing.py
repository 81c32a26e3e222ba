"""Propose to publish, activate or delete cards, and to use drafts."""

from dataclasses import replace

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed

from qwestly_agent.action import CardId, DraftId
from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import proposal_tool
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.cards.actions import DELETE_CARD, PUBLISH_CARD, SAVE_CARD_AS_ACTIVE
from qwestly_agent.cards.drafts import changed_nothing, checked_of, evidence_of, headlines_of, text_of
from qwestly_agent.cards.evidence import sources_of
from qwestly_agent.cards.model import HEADLINE
from qwestly_agent.cards.publication import drafted_proposal, publication_of, quotes_of, supported_in
from qwestly_agent.domain.card import CheckedCard, Section
from qwestly_agent.profile import SUGGEST_LINKEDIN_ABOUT, UPDATE_PROFILE_FIELD


async def publish_card(ctx: RunContext[AgentDeps], draft_id: DraftId) -> Proposal:
    """Propose to publish a card that was drafted, so that others can see it.

    Args:
        draft_id: Of the draft, as generate_qwestly_card gave it.
    """
    draft = await ctx.deps.drafts.get(ctx.deps.user_id, draft_id)
    if draft.kind != "card" or draft.status == "running":
        raise ToolFailed("There is no finished card of that id." if draft.kind != "card" else "It is still being made.")
    if draft.status == "waiting":
        raise ToolFailed(f"The user is asked about it already ({draft.approval_id}).")
    return publication_of(draft)


async def hand_over_linkedin_about(ctx: RunContext[AgentDeps], draft_id: DraftId) -> Proposal:
    """Propose to keep a drafted About section at Qwestly, where the user can copy it into LinkedIn. Nothing is sent to
    LinkedIn.

    Args:
        draft_id: Of the draft, as suggest_linkedin_about gave it.
    """
    draft = await ctx.deps.drafts.get(ctx.deps.user_id, draft_id)
    if draft.kind != "about":
        raise Invalid("Only an About section can be handed over, and this draft is none.")
    if draft.status == "waiting":
        raise ToolFailed(f"The user is asked about it already ({draft.approval_id}).")
    if draft.flagged:
        raise Invalid("It rests on something that the user had forgotten since. Draft it anew.")
    if draft.status == "running" or "card" not in draft.parts:
        raise NotFound("There is no text in this draft.")
    checked = supported_in(draft)
    args = {"draft_id": draft.id, "text": text_of(checked)}
    return drafted_proposal(SUGGEST_LINKEDIN_ABOUT, args, checked, evidence_of(draft), unchanged=changed_nothing(draft))


async def propose_headline(ctx: RunContext[AgentDeps], draft_id: DraftId) -> Proposal:
    """Propose the drafted headlines in one question, in which the user takes one for their profile.

    Args:
        draft_id: Of the draft, as suggest_headline gave it.
    """
    draft = await ctx.deps.drafts.get(ctx.deps.user_id, draft_id)
    if draft.kind != "headlines":
        raise Invalid("There are no headlines in this draft.")
    if "card" not in draft.parts:
        raise NotFound("They are not finished. Suggest headlines again.")
    checked, evidence = checked_of(draft), evidence_of(draft)
    sources = sources_of(evidence)
    standing = [each for each in headlines_of(checked) if any(quotes_of(each, evidence, sources))]
    if not standing:
        raise NotFound("What these headlines rest on was forgotten. Suggest headlines anew.")
    first = min(standing, key=lambda each: each.unchecked)
    others = [each for each in standing if each.text != first.text and not each.unchecked]
    section = Section(
        kind=HEADLINE, heading="Headlines to choose from" if others else "Headline", claims=(first, *others)
    )
    card = checked.card.model_copy(update={"headline": None, "sections": (section,)})
    args = {"field": "headline", "value": first.text}
    shown = CheckedCard(card=card, left_out=checked.left_out)
    proposal = drafted_proposal(UPDATE_PROFILE_FIELD, args, shown, evidence, unchanged=changed_nothing(draft))
    return replace(proposal, alternatives=tuple(each.text for each in others))


async def save_card_as_active(ctx: RunContext[AgentDeps], card_id: CardId) -> Proposal:  # noqa: ARG001
    """Propose to make a published card the one that others see first.

    Args:
        card_id: Of the card, as get_user_profile lists it.
    """
    return Proposal(SAVE_CARD_AS_ACTIVE, {"card_id": card_id})


async def delete_card(ctx: RunContext[AgentDeps], card_id: CardId) -> Proposal:  # noqa: ARG001
    """Propose to delete a published card for good.

    Args:
        card_id: Of the card, as get_user_profile lists it.
    """
    return Proposal(DELETE_CARD, {"card_id": card_id})


TOOLS = [
    proposal_tool(publish_card, PUBLISH_CARD, label="Proposing to publish your card…"),
    proposal_tool(hand_over_linkedin_about, SUGGEST_LINKEDIN_ABOUT, label="Proposing to keep your About section…"),
    proposal_tool(propose_headline, UPDATE_PROFILE_FIELD, label="Proposing headlines…"),
    proposal_tool(save_card_as_active, SAVE_CARD_AS_ACTIVE, label="Proposing to show this card first…"),
    proposal_tool(delete_card, DELETE_CARD, label="Proposing to delete this card…"),
]
