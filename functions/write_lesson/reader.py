"""The states of write_lesson that ask models."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.learning.ask import ask
from qwestly_agent.learning.check import check
from qwestly_agent.learning.outline import outline
from qwestly_agent.learning.write import write
from qwestly_agent.workflow_state import by_name, dispatch_within_day

STATES = by_name(outline, write, check, ask)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.model_services.run(dispatch_within_day(STATES, event, context))
