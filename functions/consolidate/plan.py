"""What of a user's memories is to be merged or superseded, in the journal."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.consolidation_state import ConsolidationState
from qwestly_agent.memory.plan import plan


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    given = ConsolidationState.model_validate(event)
    return container.model_services.run(lambda services: plan(services, given)).out
