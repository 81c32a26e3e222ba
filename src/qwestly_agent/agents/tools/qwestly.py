"""How Qwestly works."""

from typing import Any

from pydantic_ai import RunContext

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import QueryText, by_words_alone, listed, tool, vector_of

LIMIT = 5


async def query_qwestly_docs(ctx: RunContext[AgentDeps], query: QueryText) -> dict[str, Any]:
    """Search Qwestly's own documentation: features, cards, prices, privacy, how things work.

    Args:
        query: What to look for, in a few words.
    """
    vector = await vector_of(ctx, query)
    found = await ctx.deps.docs.search(query, vector, LIMIT)
    sections = [{"title": section.title, "page": section.path, "text": section.text} for section in found]
    return listed("sections", sections, "Qwestly's documentation says nothing about that.", *by_words_alone(vector))


TOOLS = [tool(query_qwestly_docs, effect="read", label="Reading about Qwestly…")]
