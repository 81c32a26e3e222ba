"""How Qwestly works."""

from typing import Any

from pydantic_ai import RunContext

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import QueryText, embed_query, list_result, tool, vector_notes

LIMIT = 5


async def query_qwestly_docs(ctx: RunContext[AgentDeps], query: QueryText) -> dict[str, Any]:
    """Search Qwestly's own documentation: features, cards, prices, privacy, how things work.

    Args:
        query: What to look for, in a few words.
    """
    vector = await embed_query(ctx, query)
    found = await ctx.deps.docs.search(query, vector, LIMIT)
    sections = [{"title": section.title, "page": section.path, "text": section.text} for section in found]
    return list_result("sections", sections, "Qwestly's documentation says nothing about that.", *vector_notes(vector))


TOOLS = [tool(query_qwestly_docs, effect="read", label="Reading about Qwestly…")]
