"""Decide an approval and do what follows at once: notify the execution, or execute the action."""

from pymongo.errors import PyMongoError

from qwestly_agent.approvals.decide import Decision, decide
from qwestly_agent.approvals.earned import note_decision
from qwestly_agent.approvals.end import tell_execution
from qwestly_agent.approvals.execute import execute
from qwestly_agent.approvals.redraft import follow_up
from qwestly_agent.approvals.trace import approval_span
from qwestly_agent.base.errors import AgentError
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.domain.approval import Approval, DecidedBy
from qwestly_agent.services import Services


async def settle(
    services: Services, user_id: str, approval_id: str, decision: Decision, *, by: DecidedBy, where: str
) -> Approval:
    """Decide the record, follow up, and return it. Raises what `decide` raises.

    Only the decision that counted is followed up. If the follow-up fails, the decision stands and the sweep retries.
    """
    approval, counted = await decide(services, user_id, approval_id, decision, by=by, where=where)
    if not counted:
        return approval
    with approval_span(services.traces, "decide approval", approval, by=by):
        return await _follow_up(services, approval)


async def _follow_up(services: Services, approval: Approval) -> Approval:
    try:
        await note_decision(services, approval)
        if approval.waits_for_execution:
            approval = await tell_execution(services, approval)
        if approval.task_token:  # an execution waits for it
            return approval
        return await follow_up(services, await execute(services, approval.user_id, approval.id))
    except (AgentError, PyMongoError) as error:
        line = {"approval_id": approval.id, "run_id": approval.run_id, **cause_of(error)}
        services.logger.warning(Event.REQUEST_FAILED, extra=line)
        return approval
