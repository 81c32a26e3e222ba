"""What may be said of the user, with where it comes from."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.cards.card_state import CardState
from qwestly_agent.cards.gather_evidence import gather_evidence


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    card = CardState.model_validate(event)
    return container.services.run(lambda services: gather_evidence(services, card)).out
