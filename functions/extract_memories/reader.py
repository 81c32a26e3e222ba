"""The states of extract_memories that read untrusted text and call models."""

from qwestly_agent import container
from qwestly_agent.memory import EXTRACT_MEMORIES

handler = container.serve(EXTRACT_MEMORIES, "reader")
