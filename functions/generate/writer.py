"""The states that have effects and call no model, for all workflows except those of memory."""

from qwestly_agent import container

handler = container.serve_writer("generate")
