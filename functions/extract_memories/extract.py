"""What may be remembered of a conversation, found by a model and checked."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.pipeline import Step
from qwestly_agent.memory.reading import extract


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    step = Step.model_validate(event)
    return container.model_services.run(lambda services: extract(services, step)).out
