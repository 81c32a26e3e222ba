"""One section, written by a model."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.cards.draft_section import draft_section
from qwestly_agent.cards.pipeline import Step


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    step = Step.model_validate(event)
    return container.model_services.run(lambda services: draft_section(services, step)).out
