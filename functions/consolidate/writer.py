"""The states of consolidate that have effects, and ask no model."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.apply import apply
from qwestly_agent.memory.find_users import find_users
from qwestly_agent.memory.sum_up import sum_up
from qwestly_agent.workflow_state import by_name, dispatch

STATES = by_name(apply, find_users, sum_up)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.services.run(dispatch(STATES, event, context))
