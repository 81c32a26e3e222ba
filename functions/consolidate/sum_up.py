"""What became of a page of users."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.consolidation_state import ConsolidationPage
from qwestly_agent.memory.sum_up import sum_up


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    given = ConsolidationPage.model_validate(event)
    return container.services.run(lambda services: sum_up(services, given)).out
