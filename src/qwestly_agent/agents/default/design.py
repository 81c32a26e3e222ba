"""One agent, all tools, the fast model."""

from pydantic_ai import Agent

from qwestly_agent.agents.base import AgentDeps, ChatAgent, Design, Models
from qwestly_agent.agents.default import prompts
from qwestly_agent.tools import TOOLS


def build(models: Models) -> ChatAgent:
    return Agent(
        models["fast"],
        name="default",
        deps_type=AgentDeps,
        output_type=str,
        instructions=prompts.INSTRUCTIONS,
        tools=TOOLS,
    )


DESIGN = Design(name="default", prompt_version=prompts.VERSION, build=build)
