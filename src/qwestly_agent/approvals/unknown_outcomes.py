"""Query the outcomes of sent effects when they are shown."""

import asyncio
from collections.abc import Sequence

from pymongo.errors import PyMongoError

from qwestly_agent.approvals.end import finish
from qwestly_agent.approvals.execute import execute
from qwestly_agent.base.errors import AgentError
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.domain.approval import SENT, Approval
from qwestly_agent.services import Services


async def refresh_outcomes(services: Services, found: Sequence[Approval]) -> list[Approval]:
    """Return these records after querying each outcome that is due; a failure changes nothing: the sweep retries."""
    return list(await asyncio.gather(*(_look(services, each) for each in found)))


async def _look(services: Services, approval: Approval) -> Approval:
    if approval.status not in SENT or services.clock() < (approval.due_at or 0.0):
        return approval
    try:
        after = await execute(services, approval.user_id, approval.id)
        return after if after.task_token else await finish(services, after)
    except (AgentError, PyMongoError) as error:
        services.logger.warning(Event.REQUEST_FAILED, extra={"approval_id": approval.id, **cause_of(error)})
        return approval
