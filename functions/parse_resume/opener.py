"""The state of parse_resume that opens untrusted files. It holds no key, and reaches only that file."""

from qwestly_agent import container
from qwestly_agent.resumes import PARSE_RESUME

handler = container.serve(PARSE_RESUME, "opener")
