"""The states that have effects and call no model, of all workflows but those of memory."""

from qwestly_agent import container

handler = container.serve_writer("generate")
