"""The next of those who have new memories."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.consolidation_state import ConsolidationPage
from qwestly_agent.memory.find_users import find_users


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    given = ConsolidationPage.model_validate(event)
    return container.services.run(lambda services: find_users(services, given)).out
