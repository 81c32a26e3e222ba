"""The states of write_draft that ask models about an interview's answer."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.interviews.decide import decide
from qwestly_agent.interviews.write import write
from qwestly_agent.workflow_state import by_name, dispatch_within_day

STATES = by_name(decide, write)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.model_services.run(dispatch_within_day(STATES, event, context))
