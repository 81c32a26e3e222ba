"""Request a user's approval on behalf of a waiting execution: store the record with the execution's encrypted task
token. The sweep sends the mail. A repeated invocation does not create a second record."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.ask import Proposal, ProposalContext, create_approval
from qwestly_agent.approvals.autonomy import gate
from qwestly_agent.approvals.end import expire_left_behind, is_left_behind, notify_with_token, without_forgotten
from qwestly_agent.base.errors import AgentError
from qwestly_agent.domain.approval import Approval
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.drafts import Draft

WAITING = "Waiting for your approval"


class NotAllowed(AgentError):
    code, http_status, sentence = "not_allowed", 403, "The user lets the agent suggest, and change nothing."


@dataclass(frozen=True)
class ApprovalRequest:
    """A workflow's request for its user's approval."""

    id: str
    """Id of the approval, the same in each invocation."""
    proposal: Proposal
    conversation_id: str | None = None
    draft: Draft | None = None
    """The draft that waits for it, as it was before."""
    is_queued: bool = False
    """True if the approval waits in the queue at every level, because the user may be absent."""


MakeRequest: TypeAlias = Callable[[Services, dict[str, Any]], Awaitable[ApprovalRequest]]
"""Makes the request from the payload that the execution sends."""


async def request_approval(services: Services, given: dict[str, Any], make_request: MakeRequest) -> Approval:
    """Request approval for the execution that passed `user_id`, `run_id`, `task_token` and, in later rounds, `revises`
    (the previous round's record). If the record has already been decided, notify the execution at once. Raises
    `Braked`, `NotAllowed` if the user's level allows only suggestions, and what `make_request` raises."""
    user_id, task_token = given["user_id"], given["task_token"]
    level, _ = await asyncio.gather(services.autonomy.level(user_id), pause.check(services.signals, user_id))
    question = await make_request(services, given)
    answer = gate(question.proposal.action.effect, level).answer
    if answer == "refuse":
        raise NotAllowed
    answer = "queue" if question.is_queued else answer
    context = ProposalContext(
        user_id=user_id,
        run_id=given["run_id"],
        level=level,
        conversation_id=question.conversation_id,
        draft_id=question.draft and question.draft.id,
        task_token=await services.workflows.seal(task_token, question.id),
        revises=given.get("revises"),
    )
    approval = await create_approval(services, question.id, question.proposal, context, answer)
    approval = await _kept_newest(services.approvals, approval, context)
    approval = await without_forgotten(services, approval)
    if approval.status == "pending" and await is_left_behind(services, approval):
        await expire_left_behind(services, approval)
        return await services.approvals.get(user_id, approval.id)
    if approval.status != "pending":  # decided before this repeated invocation
        return await notify_with_token(services, approval, task_token)
    if question.draft:
        told = {"status": "waiting", "label": WAITING, "approval_id": approval.id}
        await services.drafts.update_unless_moved(question.draft, services.clock(), **told)
    return approval


async def _kept_newest(approvals: Approvals, approval: Approval, context: ProposalContext) -> Approval:
    """Store the task token of this invocation: an execution that repeats its state waits only for the new token."""

    def renewed(record: Approval) -> Approval | None:
        if record.status != "pending" or record.task_token == context.task_token:
            return None
        return record.awaited_by(context.task_token)

    return (await approvals.change(approval, renewed))[0]
