"""What may be remembered of a conversation, found by a model and checked."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.extract import extract
from qwestly_agent.memory.extraction_state import ExtractionState


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    given = ExtractionState.model_validate(event)
    return container.model_services.run(lambda services: extract(services, given)).out
