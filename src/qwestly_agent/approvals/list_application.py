"""Keep the user's list of applications in step with approvals and sent applications."""

from contextlib import suppress

from qwestly_agent.approvals.apply_for_job import APPLY
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.application import Application, application_id
from qwestly_agent.domain.approval import Approval
from qwestly_agent.services import Services
from qwestly_agent.stores.applications import Applications
from qwestly_agent.stores.job_matches import JobMatches


async def add_to_list(applications: Applications, job_matches: JobMatches, new: Application) -> Application:
    """Insert an application, or return the existing one; its match refers to it."""
    application = await applications.add(new)
    with suppress(NotFound):  # matches are kept for a shorter time
        match = await job_matches.get(new.user_id, new.job_id)
        if match.application_id != application.id:
            await job_matches.change(new.user_id, new.job_id, new.created_at, application_id=application.id)
    return application


async def note_asked(services: Services, approval: Approval, now: float) -> None:
    """List the application that this approval asks to send (idempotent)."""
    if approval.tool == APPLY.tool:
        application = await add_to_list(services.applications, services.job_matches, _of(approval, now))
        await services.applications.change(approval.user_id, application.id, now, approval_id=approval.id)


async def note_sent(services: Services, approval: Approval, now: float) -> None:
    """Record in the user's list that the application of this approval was sent (idempotent)."""
    if approval.tool != APPLY.tool:
        return
    documents = tuple(each["document_id"] for each in approval.arguments["documents"])
    with suppress(NotFound):  # its user was erased meanwhile
        await services.approvals.get(approval.user_id, approval.id)
        application = await add_to_list(services.applications, services.job_matches, _of(approval, now))
        is_new = application.status == "preparing"
        await services.applications.change(
            approval.user_id,
            application.id,
            now,
            approved=True,
            status="applied" if is_new else application.status,
            applied_at=application.applied_at or now,
            approval_id=approval.id,
            document_ids=documents,
        )


def _of(approval: Approval, now: float) -> Application:
    job = {name: approval.arguments.get(name, "") for name in ("job_id", "title", "company", "url")}
    return Application(
        id=application_id(job["job_id"]), user_id=approval.user_id, created_at=now, updated_at=now, **job
    )
