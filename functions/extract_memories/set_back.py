"""A conversation that could not be read: later again, or set aside."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.pipeline import Step, set_back


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    step = Step.model_validate(event)
    return container.services.run(lambda services: set_back(services, step)).out
