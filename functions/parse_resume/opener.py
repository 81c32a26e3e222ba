"""The state of parse_resume that opens untrusted files. It holds no key, and reaches only that file."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.resumes.read import read
from qwestly_agent.workflow_state import by_name, dispatch

STATES = by_name(read)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.services.run(dispatch(STATES, event, context))
