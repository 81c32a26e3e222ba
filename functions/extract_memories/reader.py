"""The states of extract_memories that read untrusted text and call models."""

from qwestly_agent import container

handler = container.serve_reader("extract_memories")
