"""The states of extract_memories that see what strangers wrote and ask models."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.extract import extract
from qwestly_agent.memory.reconcile import reconcile
from qwestly_agent.memory.summarize import summarize
from qwestly_agent.workflow_state import by_name, dispatch_within_day

STATES = by_name(extract, reconcile, summarize)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.model_services.run(dispatch_within_day(STATES, event, context))
