"""The states of consolidate that see what strangers wrote and ask models."""

from qwestly_agent import container
from qwestly_agent.memory import CONSOLIDATE

handler = container.serve(CONSOLIDATE, "reader")
