"""The states of consolidate that have effects and call no model."""

from qwestly_agent import container

handler = container.serve_writer("consolidate")
