"""Request approval to store sensitive memories."""

from typing import Any

from qwestly_agent.approvals.ask_for_workflow import ApprovalRequest
from qwestly_agent.memory.actions import approval_id_of_batch, remember_proposal
from qwestly_agent.memory.forget import filter_proposed
from qwestly_agent.services import Services


async def ask_to_keep(services: Services, given: dict[str, Any]) -> ApprovalRequest:
    """Raises `NotFound` if no memory needs approval any more."""
    user_id, memory_ids, approval_id = given["user_id"], given["memory_ids"], approval_id_of_batch(given["batch_id"])
    proposed = await filter_proposed(services.memories, user_id, memory_ids)
    if not proposed:
        await services.approvals.get(user_id, approval_id)  # raises `NotFound` unless it was decided already
    proposal = remember_proposal(proposed, memory_ids, given["conversation_id"])
    return ApprovalRequest(approval_id, proposal, given["conversation_id"], is_queued=True)
