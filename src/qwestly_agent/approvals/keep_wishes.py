"""Store the job wishes of an approval after the candidate app has written its other fields."""

from contextlib import suppress

from qwestly_agent.approvals.actions import UPDATE_PROFILE, arguments_of
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.approval import Approval
from qwestly_agent.domain.job import with_wishes
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.job_searches import JobSearches


async def keep_wishes(approvals: Approvals, job_searches: JobSearches, approval: Approval) -> None:
    """Store them once per approval, however often it is called, so that later choices of the user stay."""
    if approval.tool != UPDATE_PROFILE.tool or not (wishes := arguments_of(approval).wishes):
        return
    with suppress(NotFound):  # its user was erased meanwhile
        await approvals.get(approval.user_id, approval.id)
        await job_searches.change_wishes_once(approval.user_id, approval.id, lambda before: with_wishes(before, wishes))
