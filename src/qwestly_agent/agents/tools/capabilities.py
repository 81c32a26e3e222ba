"""List what the agent can do, generated from the tools themselves."""

from collections.abc import Sequence
from typing import Any

from pydantic_ai import Tool

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.contract import contract_of
from qwestly_agent.agents.tools.base import tool


def describe(tools: Sequence[Tool[AgentDeps]]) -> Tool[AgentDeps]:
    async def list_capabilities() -> dict[str, Any]:
        """List what you can do for the user in this conversation."""
        return {"capabilities": [_capability(each) for each in tools]}

    return tool(list_capabilities, effect="read", label="Checking what I can do…")


def _capability(each: Tool[AgentDeps]) -> dict[str, str]:
    what = " ".join((each.description or "").split())  # all lines: a sentence may go on in the next one
    return {"name": each.name, "what": what, "effect": contract_of(each.name, each.metadata).effect}
