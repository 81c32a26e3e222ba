"""What becomes of what is sensitive, now that its person decided, or nobody did."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.pipeline import Step, keep_approved


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    step = Step.model_validate(event)
    return container.services.run(lambda services: keep_approved(services, step)).out
