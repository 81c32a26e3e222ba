"""How a tool is declared."""

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_ai import RunContext, Tool

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.errors import Unavailable
from qwestly_agent.observability import Event


def tool(function: Callable[..., Awaitable[Any]], *, label: str) -> Tool[AgentDeps]:
    """`label` is what the user reads while it runs, as "Looking up your profile…"."""
    return Tool(function, metadata={"label": label})


def label_of(declared: Tool[AgentDeps]) -> str:
    return (declared.metadata or {})["label"]


async def vector_of(ctx: RunContext[AgentDeps], query: str) -> list[float] | None:
    """None where the query could not be embedded: the search then goes by words."""
    try:
        [vector] = await ctx.deps.embeddings.embed([query])
    except Unavailable:
        ctx.deps.logger.warning(Event.SEARCH_WITHOUT_VECTORS)
        return None
    return vector
