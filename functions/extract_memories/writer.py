"""The states of extract_memories that have effects and call no model."""

from qwestly_agent import container
from qwestly_agent.memory import EXTRACT_MEMORIES

handler = container.serve(EXTRACT_MEMORIES, "writer")
