"""Undo an approval's effect within a day: by a separate record, with the same checks, once.

The signed-in user requests exactly this, so no level and no model is involved.
"""

import json

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.ask import Proposal, ProposalContext, create_approval
from qwestly_agent.approvals.earned import note_decision
from qwestly_agent.approvals.execute import NOT_AS_DONE, execute
from qwestly_agent.base.errors import ChangedMeanwhile, NotFound
from qwestly_agent.domain.approval import Approval, sha256_hex
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals

NOT_UNDOABLE = "This cannot be undone, or not any more."


async def undo(services: Services, user_id: str, approval_id: str) -> Approval:
    """Undo the effect, and return the undo's record; an earlier one if that is done or in progress.

    Raises `NotFound`, `Braked`, `Unavailable`, and `ChangedMeanwhile` if it cannot be undone, or if it was changed
    since.
    """
    done = await services.approvals.get(user_id, approval_id)
    number = 1
    while earlier := await _find(services.approvals, user_id, _id_of(done, number)):
        if earlier.status not in ("failed", "changed"):  # else nothing was done, and it can be tried again
            return await execute(services, user_id, earlier.id)
        number += 1
    action = services.actions.get(done.tool)
    if action is None or (inverse := action.inverse) is None or (done.undo_until or 0.0) < services.clock():
        raise ChangedMeanwhile(NOT_UNDOABLE)

    async def check() -> None:
        if not await inverse.is_unchanged(services, user_id, action.arguments_of(done)):
            raise ChangedMeanwhile(NOT_AS_DONE)

    await pause.check(services.signals, user_id)
    await check()  # and again when the version is known: a deleted subject has none
    context = ProposalContext(
        user_id=user_id,
        run_id=done.run_id,
        level=await services.autonomy.level(user_id),
        conversation_id=done.conversation_id,
        undoes=done.id,
    )
    undone = await create_approval(
        services, _id_of(done, number), Proposal(action, json.loads(done.inverse), check=check), context, "run"
    )
    await note_decision(services, undone)
    return await execute(services, user_id, undone.id)


def _id_of(done: Approval, number: int) -> str:
    return f"ap_{sha256_hex(done.id, 'undo', str(number))[:32]}"


async def _find(approvals: Approvals, user_id: str, approval_id: str) -> Approval | None:
    try:
        return await approvals.get(user_id, approval_id)
    except NotFound:
        return None
