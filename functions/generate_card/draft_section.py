"""One section, written by a model."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.cards.card_state import CardState
from qwestly_agent.cards.draft_section import draft_section


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    card = CardState.model_validate(event)
    return container.model_services.run(lambda services: draft_section(services, card)).out
