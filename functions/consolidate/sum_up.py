"""What became of a page of users."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.consolidation import Page, sum_up


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    page = Page.model_validate(event)
    return container.services.run(lambda services: sum_up(services.logger, page)).out
