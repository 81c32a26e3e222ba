"""The states of scout_jobs that see what strangers advertise, and ask models."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.jobs.check import check
from qwestly_agent.jobs.rank import rank
from qwestly_agent.workflow_state import by_name, dispatch_within_day

STATES = by_name(rank, check)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.model_services.run(dispatch_within_day(STATES, event, context))
