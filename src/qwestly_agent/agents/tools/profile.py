"""Tier 1: the profile."""

from typing import Any

from pydantic_ai import RunContext

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import tool


async def get_user_profile(ctx: RunContext[AgentDeps]) -> dict[str, Any]:
    """Read the user's profile: name, headline, location, summary, skills, education, employment, preferences, LinkedIn,
    and their published cards with their ids and texts."""
    deps = ctx.deps
    career = None if deps.calls.may_have_changed_data else deps.career
    profile = await deps.profiles.get_full(deps.user_id, career)
    return {"profile": profile} if profile else {"profile": None, "note": "This user has no profile yet."}


TOOLS = [tool(get_user_profile, effect="read", label="Looking up your profile…", is_untrusted=True)]
