"""The states of consolidate that have effects and call no model."""

from qwestly_agent import container
from qwestly_agent.memory import CONSOLIDATE

handler = container.serve(CONSOLIDATE, "writer")
