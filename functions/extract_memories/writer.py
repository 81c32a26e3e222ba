"""The states of extract_memories that have effects and call no model."""

from qwestly_agent import container

handler = container.serve_writer("extract_memories")
