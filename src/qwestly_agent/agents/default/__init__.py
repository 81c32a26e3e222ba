"""The default design: one agent per role, which answers from the three tiers."""

from qwestly_agent.agents.default.design import DESIGN as DESIGN
