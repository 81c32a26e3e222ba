"""Tier 3: the user's own documents."""

from dataclasses import asdict
from typing import Any

from pydantic_ai import RunContext

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import QueryText, embed_query, list_result, tool, vector_notes

LIMIT = 6


async def query_user_knowledge(ctx: RunContext[AgentDeps], query: QueryText) -> dict[str, Any]:
    """Search the user's own résumés, transcripts and documents.

    Args:
        query: What to look for, in a few words.
    """
    vector = await embed_query(ctx, query)
    found = await ctx.deps.knowledge.search(ctx.deps.user_id, query, vector, LIMIT)
    passages = [asdict(passage) for passage in found]
    return list_result("passages", passages, "The user's documents hold nothing about that.", *vector_notes(vector))


TOOLS = [tool(query_user_knowledge, effect="read", label="Searching your documents…", is_untrusted=True)]
