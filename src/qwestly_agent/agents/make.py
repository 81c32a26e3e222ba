"""Create an agent with the guardrails. Every design that uses pydantic-ai creates its agents here."""

from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, Tool
from pydantic_ai.capabilities import AbstractCapability

from qwestly_agent.agents.base import MOST_CALLS, AgentDeps, ChatAgent
from qwestly_agent.agents.guardrails import BoundedTools, FencedData, MeasuredWaits
from qwestly_agent.agents.help import HelpInTrouble
from qwestly_agent.llm.models import TierModel, capabilities_of
from qwestly_agent.model_calls import BoundedCost


def guardrails() -> list[AbstractCapability[Any]]:
    return [HelpInTrouble(), BoundedTools(), BoundedCost(), FencedData(), MeasuredWaits()]


def make_agent(name: str, model: TierModel, *, instructions: str, tools: Sequence[Tool[AgentDeps]]) -> ChatAgent:
    """Create an agent. Raises `InvalidSettings` for a tool without a contract."""
    return Agent(
        model.model,
        name=name,
        deps_type=AgentDeps,
        output_type=[str, DeferredToolRequests],
        instructions=instructions,
        tools=tools,
        # The library's limit also counts calls of unknown tools; `BoundedTools` counts calls of our tools.
        retries={"tools": MOST_CALLS},
        capabilities=[*guardrails(), *capabilities_of(model)],
    )
