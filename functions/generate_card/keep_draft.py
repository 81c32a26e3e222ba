"""The card as it stands, and whether publishing it may be asked for at all."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.cards.pipeline import Step, keep_draft


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    step = Step.model_validate(event)
    return container.services.run(lambda services: keep_draft(services, step)).out
