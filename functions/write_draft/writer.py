"""The state of write_draft that applies the results to the interview, and asks no model."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.interviews.keep import keep
from qwestly_agent.workflow_state import by_name, dispatch

STATES = by_name(keep)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.services.run(dispatch(STATES, event, context))
