"""What the agent can do, made from the tools themselves so that it cannot go stale."""

from collections.abc import Sequence

from pydantic_ai import Tool

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.tools.base import tool


def describe(tools: Sequence[Tool[AgentDeps]]) -> Tool[AgentDeps]:
    async def list_capabilities() -> dict[str, list[dict[str, str]]]:
        """What you can do for the user in this conversation."""
        return {"capabilities": [{"name": each.name, "what": _first_line(each.description)} for each in tools]}

    return tool(list_capabilities, label="Checking what I can do…")


def _first_line(description: str | None) -> str:
    return (description or "").strip().partition("\n")[0]
