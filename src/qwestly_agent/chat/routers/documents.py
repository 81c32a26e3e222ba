"""Routes of applications and job documents."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from qwestly_agent.base.errors import NotFound
from qwestly_agent.chat.routers.dependencies import TheServices, TheUser
from qwestly_agent.chat.services import ChatServices
from qwestly_agent.documents.content import MEDIA_TYPES, EditedPart, Format, chosen_head, content_of, file_of, head_of
from qwestly_agent.documents.service import Applying, Documents, edit
from qwestly_agent.documents.view import DocumentDetail, DocumentList, DocumentView, document_detail, document_views
from qwestly_agent.domain.card import TailoredKind
from qwestly_agent.domain.job import Application, ApplicationStatus, HeadField, planned_at
from qwestly_agent.jobs.actions import LONGEST_NOTE, MOST_DOCUMENTS, Notes, Step
from qwestly_agent.jobs.search import JobService
from qwestly_agent.jobs.view import ApplicationList, ApplicationView, AskedApproval, application_view
from qwestly_agent.stores.drafts import TAILORED, Draft, Drafts

# --- applications -----------------------------------------------------------------------------------------------------
# Routes of applications: prepare one, request to send it, update its status and next step.


router = APIRouter()


class PostedApplication(BaseModel):
    model_config = ConfigDict(extra="forbid")

    document_ids: Annotated[list[str], Field(min_length=1, max_length=MOST_DOCUMENTS)]
    note: Annotated[str, StringConstraints(max_length=LONGEST_NOTE, strip_whitespace=True)] = ""
    head: Annotated[tuple[HeadField, ...] | None, Field(max_length=5)] = None
    """The fields at the top of these documents beside the name; null for those that the user chose for all."""


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
    """List applications, most recently changed first."""
    found = await services.applications.newest(user_id, limit)
    return ApplicationList(items=await _views(services, user_id, found))


@router.post("/api/jobs/{job_id}/application")
async def prepare_application(job_id: str, services: TheServices, user_id: TheUser) -> ApplicationView:
    """Add a job to the applications, or return the existing application."""
    application = await Applying(services, JobService(services, user_id), user_id).prepare(job_id)
    return (await _views(services, user_id, [application]))[0]


@router.post("/api/jobs/{job_id}/apply", status_code=202)
async def apply_for_job(job_id: str, body: PostedApplication, services: TheServices, user_id: TheUser) -> AskedApproval:
    """Request to send the application: an approval shows exactly what would be sent, can be decided only by the
    signed-in user, and expires after 24 hours. Repeating the request returns the same approval. 423 `braked`."""
    applying = Applying(services, JobService(services, user_id), user_id)
    approval = await applying.ask(job_id, body.document_ids, body.note, services.new_id(), body.head)
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


# --- documents --------------------------------------------------------------------------------------------------------
# Routes of job documents: start one, read it with its quotes, download it as a file.


MOST_LISTED = 100
NO_SUCH_DOCUMENT = "There is no such document."


class PostedDocument(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: TailoredKind
    wish: Annotated[str, StringConstraints(max_length=500, strip_whitespace=True)] = ""
    """The user's instructions, followed as far as the evidence allows."""


class PostedEdit(BaseModel):
    model_config = ConfigDict(extra="forbid")

    parts: Annotated[list[EditedPart], Field(max_length=60)] | None
    revision: int


@router.post("/api/jobs/{job_id}/documents", status_code=202)
async def write_document(job_id: str, body: PostedDocument, services: TheServices, user_id: TheUser) -> DocumentView:
    """Start writing a document, or return the one in progress for this job. 423 `braked`."""
    documents = Documents(services, JobService(services, user_id), user_id, services.new_id())
    draft = await documents.write(body.kind, job_id, body.wish)
    return await _view(services.drafts, draft)


@router.get("/api/documents")
async def list_documents(
    services: TheServices, user_id: TheUser, job_id: Annotated[str | None, Query(max_length=140)] = None
) -> DocumentList:
    """List the documents of all jobs or of one job, newest first."""
    return DocumentList(items=document_views(await services.drafts.list_tailored(user_id, MOST_LISTED, job_id)))


@router.get("/api/documents/{document_id}")
async def read_document(document_id: str, services: TheServices, user_id: TheUser) -> DocumentDetail:
    """Return a document with each sentence's quotes, what was left out and why, and its coverage of the job posting."""
    draft = await _draft(services.drafts, user_id, document_id)
    view = await _view(services.drafts, draft)
    chosen = (await services.user_settings.get(user_id)).document_head
    return document_detail(draft, view.version, await head_of(services, user_id), chosen)


@router.put("/api/documents/{document_id}")
async def edit_document(document_id: str, body: PostedEdit, services: TheServices, user_id: TheUser) -> DocumentDetail:
    """Replace the document's sentences with these, in this order: a sentence that is already there keeps its quotes,
    any other is the user's own. If `parts` is null, the last change is undone. 422 if the document was changed
    meanwhile."""
    await edit(services, await _draft(services.drafts, user_id, document_id), body.revision, body.parts)
    return await read_document(document_id, services, user_id)


@router.get("/api/documents/{document_id}/download")
async def download_document(
    document_id: str,
    services: TheServices,
    user_id: TheUser,
    format: Format = "docx",
    head: Annotated[tuple[HeadField | Literal["none"], ...] | None, Query(max_length=5)] = None,
) -> Response:
    """Return the file: DOCX, Markdown, or a printable page. `head`, which can be repeated, lists the fields shown at
    the top beside the name, or is `none`; without it, the user's last choice applies. 404 until the file is ready, 422
    if no name is known."""
    draft = await _draft(services.drafts, user_id, document_id)
    if draft.status == "running":
        raise NotFound("It is still being written.")
    content = content_of(draft, await chosen_head(services, user_id, head))
    disposition = f'attachment; filename="{content.name or "document"}.{format}"'
    headers = {"content-disposition": disposition, "x-content-type-options": "nosniff"}
    return Response(file_of(content, format), media_type=MEDIA_TYPES[format], headers=headers)


async def _draft(drafts: Drafts, user_id: str, document_id: str) -> Draft:
    draft = await drafts.get(user_id, document_id)
    if draft.kind not in TAILORED:
        raise NotFound(NO_SUCH_DOCUMENT)
    return draft


async def _view(drafts: Drafts, draft: Draft) -> DocumentView:
    # Read all of them, because a document's version is its position.
    of_job = document_views(await drafts.list_tailored(draft.user_id, 0, draft.job_id))
    return next(each for each in of_job if each.id == draft.id)
