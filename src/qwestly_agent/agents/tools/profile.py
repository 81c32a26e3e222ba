"""Tier 1: the profile."""

import asyncio
from typing import Any

from pydantic_ai import RunContext

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import tool
from qwestly_agent.resumes.model import additions


async def get_user_profile(ctx: RunContext[AgentDeps]) -> dict[str, Any]:
    """Read the user's profile: name, headline, location, summary, skills, education, employment, preferences, LinkedIn,
    and their published cards with their ids and texts; and what their newest résumé adds to it."""
    deps = ctx.deps
    career = None if deps.calls.may_have_changed_data else deps.career
    profile, resumes = await asyncio.gather(
        deps.profiles.get_full(deps.user_id, career), deps.resumes.newest(deps.user_id, 1)
    )
    added = next((added for each in resumes if (added := additions(each, profile))), None)
    if profile:
        return {"profile": profile, **({"resume_adds": added} if added else {})}
    note = "This user has no profile yet."
    return {"profile": None, **({"resume_adds": added} if added else {}), "note": note}


TOOLS = [tool(get_user_profile, effect="read", label="Looking up your profile…", is_untrusted=True)]
