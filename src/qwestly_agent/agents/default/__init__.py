"""The default design: one agent per role, using the three tiers of models."""

from qwestly_agent.agents.default.design import DESIGN as DESIGN
