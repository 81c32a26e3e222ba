"""The states of write_draft that call models about an interview's answer."""

from qwestly_agent import container
from qwestly_agent.interviews import WRITE_DRAFT

handler = container.serve(WRITE_DRAFT, "reader")
