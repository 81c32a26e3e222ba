"""What becomes of what is sensitive, now that its person decided, or nobody did."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.extraction_state import ExtractionState
from qwestly_agent.memory.keep_approved import keep_approved


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    given = ExtractionState.model_validate(event)
    return container.services.run(lambda services: keep_approved(services, given)).out
