"""The one way to an agent: whatever a design is made of, the bounds hold."""

from collections.abc import Sequence

from pydantic_ai import Agent, DeferredToolRequests, Tool

from qwestly_agent.agents.base import AgentDeps, ChatAgent
from qwestly_agent.agents.calls import MOST_CALLS
from qwestly_agent.agents.guardrails import BoundedTools, FencedData
from qwestly_agent.llm.models import TierModel, capabilities_of
from qwestly_agent.model_calls.budget import BoundedCost


def make_agent(name: str, model: TierModel, *, instructions: str, tools: Sequence[Tool[AgentDeps]]) -> ChatAgent:
    """Raises `InvalidSettings` for a tool that declares no effect."""
    return Agent(
        model.model,
        name=name,
        deps_type=AgentDeps,
        output_type=[str, DeferredToolRequests],
        instructions=instructions,
        tools=tools,
        # The library counts the calls of tools that it does not know; ours are counted by the bounds.
        retries={"tools": MOST_CALLS},
        capabilities=[
            BoundedTools(),
            BoundedCost(),
            FencedData(),
            *capabilities_of(model),
        ],
    )
