"""The card as it stands, and whether publishing it may be asked for at all."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.cards.card_state import CardState
from qwestly_agent.cards.keep_draft import keep_draft


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    card = CardState.model_validate(event)
    return container.services.run(lambda services: keep_draft(services, card)).out
