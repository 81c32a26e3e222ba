"""The conversations that fell silent and hold what was not read yet."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.sweep import Picked, sweep


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    given = Picked.model_validate(event)
    return container.services.run(lambda services: sweep(services, given)).out
