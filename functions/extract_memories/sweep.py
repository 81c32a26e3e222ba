"""The conversations that fell silent and hold what was not read yet."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.pipeline import sweep


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    return container.services.run(sweep)
