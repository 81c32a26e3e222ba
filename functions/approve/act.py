"""Decide, execute and undo approvals for the chat, which has no right to do so. See `approvals/act.py`."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.approvals.act import answer_act


def handler(event: dict[str, Any], context: object) -> dict[str, str]:  # noqa: ARG001
    return container.services.run(lambda services: answer_act(services, event))
