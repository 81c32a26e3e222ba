"""Request the user's approval on behalf of a workflow, which waits with its task token."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.approvals.ask_for_workflow import request_approval
from qwestly_agent.workflows import WORKFLOWS

REQUESTS = {each.name: each.load_request() for each in WORKFLOWS if each.asks}


def handler(event: dict[str, Any], context: object) -> dict[str, str]:  # noqa: ARG001
    # Executions started before version 0.3 do not send their workflow's name.
    workflow = event.get("workflow") or ("generate_card" if "draft_id" in event else "extract_memories")
    approval = container.services.run(lambda services: request_approval(services, event, REQUESTS[workflow]))
    return {"approval_id": approval.id, "status": approval.status}
