"""The states of parse_resume that have effects and call no model."""

from qwestly_agent import container
from qwestly_agent.resumes import PARSE_RESUME

handler = container.serve(PARSE_RESUME, "writer")
