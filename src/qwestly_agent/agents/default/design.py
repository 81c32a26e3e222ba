"""One agent, all tools, the fast model."""

from qwestly_agent.agents.base import Models
from qwestly_agent.agents.default import prompts
from qwestly_agent.agents.design import Design, NoSettings, TurnAgent
from qwestly_agent.agents.make import LibraryAgent, make_agent
from qwestly_agent.agents.tools.catalog import TOOLS


def build_chat(models: Models, settings: NoSettings) -> TurnAgent:  # noqa: ARG001
    agent = make_agent("default", models["fast"], instructions=prompts.INSTRUCTIONS, tools=TOOLS)
    return LibraryAgent(agent, prompts.VERSION)


DESIGN = Design(name="default", roles={"chat": build_chat})
