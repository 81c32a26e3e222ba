"""Tier 2: what the user told in earlier conversations."""

from typing import Any

from pydantic_ai import RunContext

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.tools.base import Query, listed, tool, vector_of

LIMIT = 10


async def search_user_memories(ctx: RunContext[AgentDeps], query: Query) -> dict[str, Any]:
    """What the user told in earlier conversations: facts, preferences, goals, decisions, constraints.

    Args:
        query: What to look for, in a few words.
    """
    found = await ctx.deps.memories.search(ctx.deps.user_id, query, await vector_of(ctx, query), LIMIT)
    memories = [memory.model_dump(mode="json", exclude={"id"}, exclude_none=True) for memory in found]
    return listed("memories", memories, "Nothing is remembered about that.")


TOOLS = [tool(search_user_memories, effect="read", label="Searching your memories…", outside=True)]
