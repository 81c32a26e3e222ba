"""Request the user's approval on behalf of a workflow, which waits with its task token."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.cards.ask_to_publish import ask_to_publish
from qwestly_agent.memory.ask_to_keep import ask_to_keep


def handler(event: dict[str, Any], context: object) -> dict[str, str]:  # noqa: ARG001
    ask = ask_to_publish if "draft_id" in event else ask_to_keep
    approval = container.services.run(lambda services: ask(services, event))
    return {"approval_id": approval.id, "status": approval.status}
