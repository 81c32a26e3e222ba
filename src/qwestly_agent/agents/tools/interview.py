"""The interview's tools: they pass on the user's explicit wishes; code decides what follows."""

from typing import Annotated, Any, Literal

from pydantic import StringConstraints
from pydantic_ai import RunContext

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import tool
from qwestly_agent.interviews.prompts import task_of
from qwestly_agent.interviews.view import covered_so_far, draft_markdown

Title = Annotated[str, StringConstraints(min_length=1, max_length=80, strip_whitespace=True)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=300)]


async def change_topic(ctx: RunContext[AgentDeps], topic: Title) -> dict[str, Any]:
    """The person says that they want to talk about something else ("let's talk about B").

    Args:
        topic: What they named, in their words.
    """
    interview = await ctx.deps.interview.talk_about(topic)
    active = interview.active
    return {"topic": active.title if active else None, "now": task_of(interview)}


async def that_is_enough(ctx: RunContext[AgentDeps], of: Literal["topic", "interview"], quote: Words) -> dict[str, Any]:
    """The person says that it is enough ("that's all", "let's stop here"): of the topic, or of the interview.

    Args:
        of: What they have had enough of.
        quote: Their words in this message, copied letter for letter.
    """
    if not await ctx.deps.interview.enough(of, quote):
        return {"note": "They did not say that in this message. Go on."}
    return {"now": task_of(ctx.deps.interview.latest)}


async def show_draft(ctx: RunContext[AgentDeps]) -> dict[str, Any]:
    """Read what was written of the interview so far ("show me what we have")."""
    interview = ctx.deps.interview.latest
    if interview.draft:
        behind = interview.drafted_to < interview.counted_to
        note = {"note": "Their newest answers are not in it yet; it is being written."} if behind else {}
        return {"version": interview.version, "draft": draft_markdown(interview), **note}
    return {"note": "Nothing is written yet; the first draft is on its way.", "covered": covered_so_far(interview)}


TOOLS = [
    tool(change_topic, effect="draft", label="Changing the topic…"),
    tool(that_is_enough, effect="draft", label="Wrapping up…"),
    tool(show_draft, effect="read", label="Looking at your draft…"),
]
