"""The states of consolidate that see what strangers wrote and ask models."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.plan import plan
from qwestly_agent.workflow_state import by_name, dispatch_within_day

STATES = by_name(plan)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.model_services.run(dispatch_within_day(STATES, event, context))
