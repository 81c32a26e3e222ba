"""The states of parse_resume that read untrusted text and call models."""

from qwestly_agent import container
from qwestly_agent.resumes import PARSE_RESUME

handler = container.serve(PARSE_RESUME, "reader")
