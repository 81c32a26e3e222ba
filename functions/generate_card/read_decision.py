"""What the person decided, or that nobody did."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.cards.card_state import CardState
from qwestly_agent.cards.read_decision import read_decision


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    card = CardState.model_validate(event)
    return container.services.run(lambda services: read_decision(services, card)).out
