"""The states of consolidate that read untrusted text and call models."""

from qwestly_agent import container
from qwestly_agent.memory import CONSOLIDATE

handler = container.serve(CONSOLIDATE, "reader")
