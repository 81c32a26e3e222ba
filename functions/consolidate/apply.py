"""What the journal says is to be merged or superseded."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.apply import apply
from qwestly_agent.memory.consolidation_state import ConsolidationState


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    given = ConsolidationState.model_validate(event)
    return container.services.run(lambda services: apply(services, given)).out
