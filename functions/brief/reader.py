"""The state of brief that sees titles which others may have written, and asks models."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.briefings.write import write
from qwestly_agent.workflow_state import by_name, dispatch

STATES = by_name(write)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.model_services.run(dispatch(STATES, event, context))
