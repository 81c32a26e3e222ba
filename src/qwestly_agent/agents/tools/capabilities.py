"""List what the agent can do, generated from the tools."""

from collections.abc import Sequence
from typing import Any

from pydantic_ai import RunContext, Tool

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.calls import contract_of
from qwestly_agent.agents.tools.base import NEEDS, tool


def capabilities_tool(tools: Sequence[Tool[AgentDeps]]) -> Tool[AgentDeps]:
    async def list_capabilities(ctx: RunContext[AgentDeps]) -> dict[str, Any]:
        """List what you can do for the user here, and what is not set up."""
        missing = [each for each in tools if NEEDS in _metadata(each) and await each.prepare_tool_def(ctx) is None]
        told: dict[str, Any] = {"capabilities": [_capability(each) for each in tools if each not in missing]}
        if missing:
            told["not_set_up"] = [{**_capability(each), NEEDS: _metadata(each)[NEEDS]} for each in missing]
        return told

    return tool(list_capabilities, effect="read", label="Checking what I can do…")


def _metadata(each: Tool[AgentDeps]) -> dict[str, Any]:
    return each.metadata or {}


def _capability(each: Tool[AgentDeps]) -> dict[str, str]:
    what = " ".join((each.description or "").split())  # joined, because sentences may span lines
    return {"name": each.name, "what": what, "effect": contract_of(each.name, each.metadata).effect}
