"""Draft career documents, read drafts, and propose to publish them."""

from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed

from qwestly_agent.action import CardId, DraftId
from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import Wish, proposal_tool, require_typed, tool
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.cards.actions import DELETE_CARD, PUBLISH_CARD, SAVE_CARD_AS_ACTIVE
from qwestly_agent.cards.drafts import changed_nothing, checked_of, evidence_of, headlines_of, text_of, text_of_draft
from qwestly_agent.cards.evidence import sources_of
from qwestly_agent.cards.model import HEADLINE
from qwestly_agent.cards.publication import drafted_proposal, publication_of, quotes_of, supported_in
from qwestly_agent.cards.start import Cards, ProfileText
from qwestly_agent.domain.card import CheckedCard, Section, Style
from qwestly_agent.profile import SUGGEST_LINKEDIN_ABOUT, UPDATE_PROFILE_FIELD
from qwestly_agent.stores.drafts import Drafts

# --- cards ------------------------------------------------------------------------------------------------------------
# Draft career documents from what is known about the user, and read drafts.


PROFILE_TEXT_SECONDS = 90.0

CHANGED_NOTHING = "The wish changed nothing: it reads as before. Say so."
ASKED = ", and is asked to approve it"
NOT_ASKED = ". At their level it is kept as a draft: they must allow more before it can be published"


async def generate_qwestly_card(
    ctx: RunContext[AgentDeps], style: Style = "standard", wish: Wish = ""
) -> dict[str, Any]:
    """Begin to draft the user's Qwestly Card from their profile, memories and documents. It takes minutes, and the user
    is asked before anybody else sees it.

    Args:
        style: How it reads: whole sentences, as short as it can be, or as a story.
        wish: What the user wants of it ("focus on my leadership"), copied letter for letter; empty where they said
            nothing.
    """
    asks = ASKED if ctx.deps.turn.level != "L0" else NOT_ASKED
    draft = await ctx.deps.feature(Cards).start(style, require_typed(wish, ctx.deps.turn.user_messages))
    return {
        "draft_id": draft.id,
        "status": draft.status,
        "note": f"The user sees how far it is{asks}. Say that it has begun, "
        "and end your answer: do not wait for it, and do not write the card yourself.",
    }


async def suggest_linkedin_about(
    ctx: RunContext[AgentDeps], style: Style = "standard", wish: Wish = "", revises: DraftId | None = None
) -> dict[str, Any]:
    """Draft the About section of the user's LinkedIn profile from what is known of them. It is a suggestion: nothing is
    sent to LinkedIn.

    Args:
        style: How it reads: whole sentences, as short as it can be, or as a story.
        wish: What the user wants of it ("make it shorter"), copied letter for letter; empty where they said nothing.
        revises: The draft that they want otherwise, as this tool gave it; left out for a new one.
    """
    about = await ctx.deps.feature(Cards).about(style, require_typed(wish, ctx.deps.turn.user_messages), revises or "")
    return {"draft_id": about.draft_id, "text": text_of(about.checked), **_judged(about)}


async def suggest_headline(ctx: RunContext[AgentDeps], wish: Wish = "") -> dict[str, Any]:
    """Draft three headlines for the user's profile from what is known of them. Then call propose_headline, once.

    Args:
        wish: What the user wants of it, copied letter for letter; empty where they said nothing.
    """
    written = await ctx.deps.feature(Cards).headlines(require_typed(wish, ctx.deps.turn.user_messages))
    headlines = [{"number": n, "text": each.text} for n, each in enumerate(headlines_of(written.checked), 1)]
    return {"draft_id": written.draft_id, "headlines": headlines, **_judged(written)}


def _judged(written: ProfileText) -> dict[str, Any]:
    """Return what was left out and what was not checked, with a note if the user's request changed nothing."""
    checked = written.checked
    return {
        **({"unchanged": CHANGED_NOTHING} if written.unchanged else {}),
        "left_out": [{"text": each.claim.text, "why": list(each.why)} for each in checked.left_out],
        "users_own_words_as_no_second_reader_was_available": [
            claim.text for claim in checked.card.claims if claim.unchecked
        ],
        "note": "Show the text word for word. Say what was left out and why, and what would change that; and which "
        "are their own words.",
    }


async def read_draft(ctx: RunContext[AgentDeps], draft_id: DraftId) -> dict[str, Any]:
    """Read a draft of the user's, a card or an About section: how far it is, its text, and what was left out and why.

    Args:
        draft_id: Of the draft, as generate_qwestly_card or suggest_linkedin_about gave it.
    """
    draft = await ctx.deps.feature(Drafts).get(ctx.deps.user_id, draft_id)
    told = {name: getattr(draft, name) for name in ("kind", "status", "style", "label")}
    written = text_of_draft(draft)
    if written is None:
        return {**told, "note": "There is no text to read. The label says how far it is, or why it ended."}
    notes = ["Show the text word for word."]
    if changed_nothing(draft):
        notes.append(CHANGED_NOTHING)
    if draft.flagged:
        notes.append("It rests on something that the user had forgotten since: say so, and offer to draft it anew.")
    return {**told, **written.model_dump(mode="json", exclude_defaults=True), "note": " ".join(notes)}


TOOLS = [
    tool(generate_qwestly_card, effect="draft", label="Beginning your card…"),
    tool(
        suggest_headline, effect="draft", label="Drafting headlines…", timeout=PROFILE_TEXT_SECONDS, is_untrusted=True
    ),
    tool(
        suggest_linkedin_about,
        effect="draft",
        label="Drafting your About section…",
        timeout=PROFILE_TEXT_SECONDS,
        is_untrusted=True,
    ),
    tool(read_draft, effect="read", label="Reading your draft…", is_untrusted=True),
]


# --- publishing -------------------------------------------------------------------------------------------------------
# Propose to publish, activate or delete cards, and to use drafts.


async def publish_card(ctx: RunContext[AgentDeps], draft_id: DraftId) -> Proposal:
    """Propose to publish a card that was drafted, so that others can see it.

    Args:
        draft_id: Of the draft, as generate_qwestly_card gave it.
    """
    draft = await ctx.deps.feature(Drafts).get(ctx.deps.user_id, draft_id)
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
    draft = await ctx.deps.feature(Drafts).get(ctx.deps.user_id, draft_id)
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
    draft = await ctx.deps.feature(Drafts).get(ctx.deps.user_id, draft_id)
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


PUBLISHING_TOOLS = [
    proposal_tool(publish_card, PUBLISH_CARD, label="Proposing to publish your card…"),
    proposal_tool(hand_over_linkedin_about, SUGGEST_LINKEDIN_ABOUT, label="Proposing to keep your About section…"),
    proposal_tool(propose_headline, UPDATE_PROFILE_FIELD, label="Proposing headlines…"),
    proposal_tool(save_card_as_active, SAVE_CARD_AS_ACTIVE, label="Proposing to show this card first…"),
    proposal_tool(delete_card, DELETE_CARD, label="Proposing to delete this card…"),
]
