"""The conversation is read so far."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.extraction_state import ExtractionState
from qwestly_agent.memory.move_watermark import move_watermark


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    given = ExtractionState.model_validate(event)
    return container.services.run(lambda services: move_watermark(services, given)).out
