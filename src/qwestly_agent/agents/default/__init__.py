"""The orchestrator: one agent that answers from the three tiers."""

from qwestly_agent.agents.default.design import DESIGN as DESIGN
