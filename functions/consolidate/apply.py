"""What the journal says is to be merged or superseded."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.consolidation import Step, apply


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    step = Step.model_validate(event)
    return container.services.run(lambda services: apply(services, step)).out
