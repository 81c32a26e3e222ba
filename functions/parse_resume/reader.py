"""The states of parse_resume that see what strangers wrote and ask models."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.resumes.ground import ground
from qwestly_agent.resumes.parse import parse
from qwestly_agent.workflow_state import by_name, dispatch_within_day

STATES = by_name(ground, parse)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.resume_services.run(dispatch_within_day(STATES, event, context))
