"""Move the trial of a variant forward or back, every five minutes."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.rollout.writer import advance
from qwestly_agent.workflow_state import by_name, dispatch

SCHEDULED = by_name(advance)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.services.run(dispatch(SCHEDULED, event, context))
