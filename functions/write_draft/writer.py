"""The state of write_draft that applies the results to the interview and calls no model."""

from qwestly_agent import container
from qwestly_agent.interviews import WRITE_DRAFT

handler = container.serve(WRITE_DRAFT, "writer")
