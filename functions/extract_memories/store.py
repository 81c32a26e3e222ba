"""What was decided becomes memories; what is sensitive waits for a yes."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.extraction_state import ExtractionState
from qwestly_agent.memory.store import store


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    given = ExtractionState.model_validate(event)
    return container.services.run(lambda services: store(services, given)).out
