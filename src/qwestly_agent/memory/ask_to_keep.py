"""Request approval to store sensitive memories."""

import asyncio
from typing import Any

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.ask_for_workflow import ApprovalRequest, request_approval
from qwestly_agent.domain.approval import Approval
from qwestly_agent.memory.actions import approval_id_of_batch, remember_proposal
from qwestly_agent.memory.forget import filter_proposed
from qwestly_agent.services import Services


async def ask_to_keep(services: Services, given: dict[str, Any]) -> Approval:
    """Request the approval, and return it. Raises `NotFound` if no memory needs approval any more, and `Braked`."""
    user_id, memory_ids, approval_id = given["user_id"], given["memory_ids"], approval_id_of_batch(given["batch_id"])
    level, _ = await asyncio.gather(services.autonomy.level(user_id), pause.check(services.signals, user_id))
    proposed = await filter_proposed(services.memories, user_id, memory_ids)
    if not proposed:
        await services.approvals.get(user_id, approval_id)  # raises `NotFound` unless it was decided already
    # The user may be absent, so the approval is queued at every level.
    proposal = remember_proposal(proposed, memory_ids, given["conversation_id"])
    question = ApprovalRequest(approval_id, proposal, "queue", given["conversation_id"])
    return await request_approval(services, given, level, question)
