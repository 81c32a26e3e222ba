"""How it ended, where the user reads it."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.cards.pipeline import Step, note_end


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    step = Step.model_validate(event)
    return container.house.run(lambda house: note_end(house, step)).out
