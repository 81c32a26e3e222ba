"""What follows a person's answer: the execution that waits is told, or what was allowed is done right away."""

from contextlib import suppress
from typing import Any

from pymongo.errors import PyMongoError

from qwestly_agent.authority.acts import still_proposed
from qwestly_agent.authority.approvals import Decision, decide, expire
from qwestly_agent.authority.carrying_out import carry_out
from qwestly_agent.authority.keeping import let_go
from qwestly_agent.authority.model import PRIVATE, Approval, DecidedBy
from qwestly_agent.authority.words import DRAFT_ENDS
from qwestly_agent.bootstrap import House
from qwestly_agent.errors import AgentError, NotFound, Unavailable
from qwestly_agent.observability import Event, cause_of

MOST_WAITING = 100
CONVERSATION_DELETED = "You deleted its conversation. Nothing was done."


async def settle(
    house: House, user_id: str, approval_id: str, decision: Decision, *, by: DecidedBy, where: str
) -> Approval:
    """The record after this decision and what could follow it at once. Raises what `decide` raises.

    Only the decision that counted is followed up. Where that fails, the decision stands and the sweep goes on.
    """
    approval, counted = await decide(house, user_id, approval_id, decision, by=by, where=where)
    return await _follow_up(house, approval) if counted else approval


async def tell_execution(house: House, approval: Approval) -> Approval:
    """The record, of which its execution knows now; one that waits no more is content. Raises `Unavailable`."""
    if approval.task_token is None:
        return approval
    task_token = await house.workflows.opened(approval.task_token, approval.id)
    return await tell(house, approval, task_token)


async def tell(house: House, approval: Approval, task_token: str) -> Approval:
    """The same with a token that is not sealed yet."""
    waited = await house.workflows.answer(task_token, {"approval_id": approval.id, "status": approval.status})
    return await _note_told(house, approval) if waited else await give_up(house, approval)


async def give_up(house: House, approval: Approval) -> Approval:
    """Nobody waits for it any more, or cannot be told: from now on it is a record like those of the chat."""
    approval = await _note_told(house, approval, task_token=None)
    if approval.draft_id and approval.status in DRAFT_ENDS:
        status, label = DRAFT_ENDS[approval.status]
        with suppress(NotFound):
            await house.drafts.tell(approval.user_id, approval.draft_id, house.clock(), status=status, label=label)
    if approval.kind == "memory":
        await let_go(house, approval)
    return approval


async def end_empty(house: House, user_id: str) -> None:
    """Questions about memories of which none waits any more: nobody is asked about nothing."""
    for approval in await house.approvals.waiting(user_id, MOST_WAITING):
        if approval.status != "pending" or approval.kind not in PRIVATE:
            continue
        if await still_proposed(house, user_id, approval.arguments["memory_ids"]):
            continue
        if expired := await expire(house, approval, house.clock()):
            with suppress(Unavailable):  # then the sweep tells it
                await tell_execution(house, expired)


async def withdraw(house: House, user_id: str, conversation_id: str) -> None:
    """The questions of a conversation that is deleted: they expire, and executions that wait for them end."""
    for approval in await house.approvals.of_conversation(user_id, conversation_id, 0):
        if approval.status != "pending":
            continue
        if expired := await expire(house, approval, house.clock(), CONVERSATION_DELETED):
            with suppress(AgentError):  # then the sweep tells it
                await tell_execution(house, expired)


async def _note_told(house: House, approval: Approval, **changes: Any) -> Approval:
    while not approval.told_execution:
        after = approval.model_copy(update={"told_execution": True, **changes})
        approval = await house.approvals.put(approval, after) or await house.approvals.get(
            approval.user_id, approval.id
        )
    return approval


async def _follow_up(house: House, approval: Approval) -> Approval:
    try:
        if approval.waits_for_execution:
            approval = await tell_execution(house, approval)
        if approval.task_token:  # its execution goes on
            return approval
        return await carry_out(house, approval.user_id, approval.id)
    except (AgentError, PyMongoError) as error:
        line = {"approval_id": approval.id, "run_id": approval.run_id, **cause_of(error)}
        house.logger.warning(Event.REQUEST_FAILED, extra=line)
        return approval
