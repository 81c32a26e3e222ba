"""Applications: propose to apply, list them, propose to change one. Not offered without a job board."""

from typing import Annotated, Any

from pydantic import Field, StringConstraints
from pydantic_ai import RunContext

from qwestly_agent.action import DraftId
from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import list_result, proposal_tool, require_typed, tool
from qwestly_agent.agents.tools.jobs import JobId, offered_with_boards
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Invalid
from qwestly_agent.domain.approval import Confidence
from qwestly_agent.domain.job import Application, ApplicationStatus
from qwestly_agent.jobs.actions import APPLY, LONGEST_NOTE, UPDATE_APPLICATION, Notes, Step

MOST_LISTED = 30


async def apply(
    ctx: RunContext[AgentDeps],
    job_id: JobId,
    document_ids: Annotated[list[DraftId], Field(min_length=1, max_length=4)],
    note: Annotated[str, StringConstraints(max_length=LONGEST_NOTE)] = "",
) -> Proposal:
    """Propose to send an application with documents that were written for this job. The user sees all that
    would be sent and must approve it each time. It cannot be taken back.

    Args:
        job_id: As search_jobs lists it.
        document_ids: As tailor_resume and cover_letter gave them; ready ones alone.
        note: Words of the user that go along, copied letter for letter; empty where they said nothing.
    """
    return await ctx.deps.applying.proposal(job_id, document_ids, require_typed(note, ctx.deps.user_messages))


async def list_applications(ctx: RunContext[AgentDeps]) -> dict[str, Any]:
    """List the user's applications with status, next step and its date."""
    found = await ctx.deps.applying.list(MOST_LISTED)
    return list_result("applications", list(map(_shown, found)), "They have applied for nothing yet.")


async def update_application(
    ctx: RunContext[AgentDeps],
    application_id: DraftId,
    status: ApplicationStatus | None = None,
    next_step: Step | None = None,
    next_at: Annotated[str, StringConstraints(max_length=40)] | None = None,
    notes: Notes | None = None,
    confidence: Confidence | None = None,
) -> Proposal:
    """Propose to change an application in the user's list: its outcome as they report it, and the next step. Omitted
    fields stay unchanged.

    Args:
        application_id: As list_applications gives it.
        status: What became of it.
        next_step: What the user does next.
        next_at: When, in ISO 8601 with its offset; of an interview its beginning.
        notes: In place of the notes that are there.
        confidence: How sure you are that they want it.
    """
    given = {"status": status, "next_step": next_step, "next_at": next_at, "notes": notes}
    said = {name: value for name, value in given.items() if value is not None}
    if not said:
        raise Invalid("Say what changes.")
    proposal = Proposal(UPDATE_APPLICATION, {"application_id": application_id, **said}, confidence=confidence)
    UPDATE_APPLICATION.parse(proposal.args).changes(ctx.deps.clock())
    return proposal


def _shown(application: Application) -> dict[str, Any]:
    told = application.model_dump(include={"title", "company", "status", "next_step", "notes"})
    moments = {"next_at": application.next_at, "applied_at": application.applied_at}
    dates = {name: to_datetime(at).isoformat() for name, at in moments.items() if at is not None}
    known = {name: value for name, value in {**told, **dates}.items() if value}
    return {"application_id": application.id, "job_id": application.job_id, **known}


TOOLS = [
    offered_with_boards(proposal_tool(apply, APPLY, label="Proposing to apply…")),
    offered_with_boards(tool(list_applications, effect="read", label="Reading your applications…", is_untrusted=True)),
    offered_with_boards(proposal_tool(update_application, UPDATE_APPLICATION, label="Proposing to change your list…")),
]
