"""The conversation is read so far."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.pipeline import Step, move_watermark


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    step = Step.model_validate(event)
    return container.services.run(lambda services: move_watermark(services, step)).out
