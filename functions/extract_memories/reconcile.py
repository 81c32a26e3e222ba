"""What is found against what is known: add, reinforce, supersede or skip."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.extraction_state import ExtractionState
from qwestly_agent.memory.reconcile import reconcile


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    given = ExtractionState.model_validate(event)
    return container.model_services.run(lambda services: reconcile(services, given)).out
