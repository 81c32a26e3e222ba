"""What of a user's memories is to be merged, in the journal."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.consolidation import Step, plan


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    step = Step.model_validate(event)
    return container.house.run(lambda house: plan(house, step)).out
