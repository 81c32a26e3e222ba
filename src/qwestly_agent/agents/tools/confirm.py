"""Ask the user to confirm something in words. Every role has this tool; a yes to it is never an approval."""

from typing import Annotated, Any

from pydantic import StringConstraints
from pydantic_ai import RunContext

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import tool

About = Annotated[str, StringConstraints(min_length=1, max_length=120, strip_whitespace=True)]
Question = Annotated[str, StringConstraints(min_length=1, max_length=300, strip_whitespace=True)]


async def confirm_with_user(ctx: RunContext[AgentDeps], about: About, question: Question) -> dict[str, Any]:
    """Ask which they mean, before something long. A yes to it approves nothing.

    Args:
        about: Its name alone.
    """
    await ctx.deps.learning.offer(about, question)
    return {"asked": question, "note": "End your answer with this question, and wait for their next message."}


CONFIRM = tool(confirm_with_user, effect="draft", label="Asking you…")
