"""Each claim against the evidence that it cites; what fails is drafted again, at most twice."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.cards.pipeline import Step, check_claims


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    step = Step.model_validate(event)
    return container.house.run(lambda house: check_claims(house, step)).out
