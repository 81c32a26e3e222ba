"""The states of extract_memories that see what strangers wrote and ask models."""

from qwestly_agent import container
from qwestly_agent.memory import EXTRACT_MEMORIES

handler = container.serve(EXTRACT_MEMORIES, "reader")
