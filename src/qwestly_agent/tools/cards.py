"""Career documents, drafted from what is known of the user and from nothing else."""

from typing import Any

from pydantic_ai import RunContext

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.cards.model import Style
from qwestly_agent.tools.base import tool

ABOUT_SECONDS = 90.0
ASKED = ", and is asked to approve it"
NOT_ASKED = ". At their level it is kept as a draft: they must allow more before it can be published"


async def generate_qwestly_card(ctx: RunContext[AgentDeps], style: Style = "standard") -> dict[str, Any]:
    """Begin to draft the user's Qwestly Card from their profile, memories and documents. It takes minutes, and the user
    is asked before anybody else sees it.

    Args:
        style: How it reads: whole sentences, as short as it can be, or as a story.
    """
    draft = await ctx.deps.cards.start(style)
    return {
        "draft_id": draft.id,
        "status": draft.status,
        "note": f"The user sees how far it is{ASKED if ctx.deps.level != 'L0' else NOT_ASKED}. Say that it has begun, "
        "and end your answer: do not wait for it, and do not write the card yourself.",
    }


async def suggest_linkedin_about(ctx: RunContext[AgentDeps], style: Style = "standard") -> dict[str, Any]:
    """Draft the About section of the user's LinkedIn profile from what is known of them. It is a suggestion: nothing is
    sent to LinkedIn.

    Args:
        style: How it reads: whole sentences, as short as it can be, or as a story.
    """
    about = await ctx.deps.cards.about(style)
    left_out = [{"text": each.claim.text, "why": list(each.why)} for each in about.left_out]
    return {
        "draft_id": about.draft_id,
        "text": about.text,
        "left_out": left_out,
        "note": "Show the text word for word. Say what was left out and why, and what would change that.",
    }


TOOLS = [
    tool(generate_qwestly_card, effect="draft", label="Beginning your card…"),
    tool(
        suggest_linkedin_about,
        effect="draft",
        label="Drafting your About section…",
        timeout=ABOUT_SECONDS,
        outside=True,
    ),
]
