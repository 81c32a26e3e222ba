"""One agent, all tools, the fast model."""

from qwestly_agent.agents.base import ChatAgent, Design, Models
from qwestly_agent.agents.default import prompts
from qwestly_agent.agents.make import make_agent
from qwestly_agent.agents.tools.catalog import TOOLS


def build(models: Models) -> ChatAgent:
    return make_agent("default", models["fast"], instructions=prompts.INSTRUCTIONS, tools=TOOLS)


DESIGN = Design(name="default", prompt_version=prompts.VERSION, build=build)
