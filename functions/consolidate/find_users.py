"""The next of those who have new memories."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.consolidation import Page, find_users


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    page = Page.model_validate(event)
    return container.services.run(
        lambda services: find_users(services.sweeps, services.new_id, services.logger, page)
    ).out
