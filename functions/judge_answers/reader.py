"""Judge a sample of the day's answers, every night. Reads user text, calls models, and stores counts."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.rollout.reader import judge_day
from qwestly_agent.workflow_state import by_name, dispatch

STATES = by_name(judge_day)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.model_services.run(dispatch(STATES, event, context))
