"""The states of consolidate that read untrusted text and call models."""

from qwestly_agent import container

handler = container.serve_reader("consolidate")
