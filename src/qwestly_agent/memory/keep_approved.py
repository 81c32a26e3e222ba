"""Store sensitive memories after the user's approval, and drop them otherwise.

Only the record is trusted, not the input that resumed the execution.
"""

from collections.abc import Mapping
from typing import Literal

from qwestly_agent.approvals.end import scrub
from qwestly_agent.approvals.execute import execute
from qwestly_agent.base.errors import NotFound, Unavailable
from qwestly_agent.domain.approval import FINAL, Status
from qwestly_agent.memory.actions import approval_id_of_batch, discard
from qwestly_agent.memory.extraction_state import ExtractionState
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import expire_if_pending, state


@state(ExtractionState, ignores_brake=True)
async def keep_approved(services: Services, given: ExtractionState) -> ExtractionState:
    """Apply the decision, or its absence. It also runs under the brake, because `execute` checks it. Raises
    `Unavailable` while the outcome of an approved record is unknown."""
    approval_id = (
        (given.decided and given.decided.approval_id) or given.approval_id or approval_id_of_batch(given.batch_id or "")
    )
    try:
        approval = await expire_if_pending(services.approvals, services.clock, given.user_id, approval_id)
    except NotFound:  # it was never requested, or the user erased everything meanwhile
        await services.memories.delete_proposed(given.user_id, given.memory_ids)
        return given.model_copy(update={"end": "gone"})
    # This also continues an earlier invocation; a record that must not be executed stays unchanged.
    approval = await execute(services, given.user_id, approval_id)
    if approval.status not in FINAL:
        raise Unavailable
    await discard(services, approval)
    await scrub(services.approvals, given.user_id, approval_id)
    return given.model_copy(update={"approval_id": approval_id, "end": _ENDS.get(approval.status, "expired")})


_ENDS: Mapping[Status, Literal["kept", "rejected"]] = {"done": "kept", "rejected": "rejected"}
"""Any other end: it was not approved in time."""
