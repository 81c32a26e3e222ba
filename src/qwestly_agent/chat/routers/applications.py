"""Routes of applications: prepare one, request to send it, update its status and next step."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from qwestly_agent.chat.routers.dependencies import TheServices, TheUser
from qwestly_agent.chat.services import ChatServices
from qwestly_agent.documents.service import Applying
from qwestly_agent.domain.job import Application, ApplicationStatus, planned_at
from qwestly_agent.jobs.actions import LONGEST_NOTE, MOST_DOCUMENTS, Notes, Step
from qwestly_agent.jobs.search import JobService
from qwestly_agent.jobs.view import ApplicationList, ApplicationView, AskedApproval, application_view

router = APIRouter()


class PostedApplication(BaseModel):
    model_config = ConfigDict(extra="forbid")

    document_ids: Annotated[list[str], Field(min_length=1, max_length=MOST_DOCUMENTS)]
    note: Annotated[str, StringConstraints(max_length=LONGEST_NOTE, strip_whitespace=True)] = ""


class PatchedApplication(BaseModel):
    """Omitted fields stay unchanged; `next_at` of null removes it."""

    model_config = ConfigDict(extra="forbid")

    status: ApplicationStatus | None = None
    next_step: Step | None = None
    next_at: AwareDatetime | None = None
    notes: Notes | None = None

    def changes(self, now: float) -> dict[str, Any]:
        """Raises `Invalid` for a date too far away."""
        given = self.model_dump(exclude_unset=True)
        changes = {name: value for name, value in given.items() if value is not None}
        if "next_at" in given:
            changes["next_at"] = planned_at(self.next_at, now) if self.next_at else None
        return changes


@router.get("/api/applications")
async def list_applications(
    services: TheServices, user_id: TheUser, limit: Annotated[int, Query(ge=1, le=200)] = 100
) -> ApplicationList:
    """List applications, by latest change."""
    found = await services.applications.newest(user_id, limit)
    return ApplicationList(items=await _views(services, user_id, found))


@router.post("/api/jobs/{job_id}/application")
async def prepare_application(job_id: str, services: TheServices, user_id: TheUser) -> ApplicationView:
    """Add a job to the applications; returns the existing one if there is one."""
    application = await Applying(services, JobService(services, user_id), user_id).prepare(job_id)
    return (await _views(services, user_id, [application]))[0]


@router.post("/api/jobs/{job_id}/apply", status_code=202)
async def apply_for_job(job_id: str, body: PostedApplication, services: TheServices, user_id: TheUser) -> AskedApproval:
    """Request to send it: an approval shows exactly what would be sent, is decided only by the signed-in user, and
    expires after 24 hours. The same request again returns the same approval. 423 `braked`."""
    applying = Applying(services, JobService(services, user_id), user_id)
    approval = await applying.ask(job_id, body.document_ids, body.note, services.new_id())
    return AskedApproval(approval_id=approval.id)


@router.patch("/api/applications/{application_id}")
async def change_application(
    application_id: str, body: PatchedApplication, services: TheServices, user_id: TheUser
) -> ApplicationView:
    """Change an application in the list. Nothing is sent."""
    now = services.clock()
    application = await services.applications.change(user_id, application_id, now, **body.changes(now))
    return (await _views(services, user_id, [application]))[0]


async def _views(services: ChatServices, user_id: str, applications: Sequence[Application]) -> list[ApplicationView]:
    asked = [each.approval_id for each in applications if each.approval_id]
    approvals = {each.id: each for each in await services.approvals.get_many(user_id, asked)}
    now = services.clock()
    return [application_view(each, approvals.get(each.approval_id or ""), now) for each in applications]
