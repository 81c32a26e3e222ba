"""A conversation that could not be read: later again, or set aside."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.extraction_state import ExtractionState
from qwestly_agent.memory.retry_later import retry_later


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    given = ExtractionState.model_validate(event)
    return container.services.run(lambda services: retry_later(services, given)).out
