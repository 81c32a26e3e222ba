"""What is found against what is known: add, reinforce, supersede or skip."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.pipeline import Step
from qwestly_agent.memory.reading import reconcile


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001
    step = Step.model_validate(event)
    return container.model_services.run(lambda services: reconcile(services, step)).out
