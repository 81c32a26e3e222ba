"""Draft career documents from what is known about the user, and read drafts."""

from typing import Any

from pydantic_ai import RunContext

from qwestly_agent.action import DraftId
from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import Wish, require_typed, tool
from qwestly_agent.cards.drafts import changed_nothing, headlines_of, text_of, text_of_draft
from qwestly_agent.cards.start import ProfileText
from qwestly_agent.domain.card import Style

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
    draft = await ctx.deps.cards.start(style, require_typed(wish, ctx.deps.user_messages))
    return {
        "draft_id": draft.id,
        "status": draft.status,
        "note": f"The user sees how far it is{ASKED if ctx.deps.level != 'L0' else NOT_ASKED}. Say that it has begun, "
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
    about = await ctx.deps.cards.about(style, require_typed(wish, ctx.deps.user_messages), revises or "")
    return {"draft_id": about.draft_id, "text": text_of(about.checked), **_judged(about)}


async def suggest_headline(ctx: RunContext[AgentDeps], wish: Wish = "") -> dict[str, Any]:
    """Draft three headlines for the user's profile from what is known of them. Then call propose_headline, once.

    Args:
        wish: What the user wants of it, copied letter for letter; empty where they said nothing.
    """
    written = await ctx.deps.cards.headlines(require_typed(wish, ctx.deps.user_messages))
    headlines = [{"number": n, "text": each.text} for n, each in enumerate(headlines_of(written.checked), 1)]
    return {"draft_id": written.draft_id, "headlines": headlines, **_judged(written)}


def _judged(written: ProfileText) -> dict[str, Any]:
    """Return what was left out and what was not checked, with a note if the wish changed nothing."""
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
    draft = await ctx.deps.drafts.get(ctx.deps.user_id, draft_id)
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
