"""The state of parse_resume that opens untrusted files. It has no keys, and can reach only uploaded files."""

from qwestly_agent import container
from qwestly_agent.resumes import PARSE_RESUME

handler = container.serve(PARSE_RESUME, "opener")
