"""Routes of résumés: posted as a file or as text, parsed by a workflow, and leading to one approval."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, ValidationError

from qwestly_agent.base.clock import Cursor
from qwestly_agent.base.errors import Invalid
from qwestly_agent.chat.routers.dependencies import TheServices, TheUser
from qwestly_agent.resumes.view import ResumeDetail, ResumeList, ResumeView, resume_detail, resume_view
from qwestly_agent.resumes.writer import LONGEST_NAME, remove, start

router = APIRouter()


class PostedText(BaseModel):
    """A résumé as text."""

    model_config = ConfigDict(extra="forbid")

    text: str
    name: str = ""
    """The name for display."""


_FILE = {"schema": {"type": "string", "format": "binary"}}
_BODY: dict[str, Any] = {
    "required": True,
    "content": {"application/json": {"schema": PostedText.model_json_schema()}, "application/octet-stream": _FILE},
}


@router.post("/api/resumes", status_code=202, openapi_extra={"requestBody": _BODY})
async def post_resume(
    request: Request,
    services: TheServices,
    user_id: TheUser,
    name: Annotated[str, Query(max_length=LONGEST_NAME)] = "",
) -> ResumeView:
    """Parse a résumé: JSON `{text, name?}`, or the bytes of a PDF, DOCX, Markdown or plain text file with its name as
    `name`; at most 4 MB. Posting the same content again returns the same résumé, unless parsing it failed. 423
    `braked`, 413, and 429 `too_many_resumes`."""
    content = await request.body()
    if request.headers.get("content-type", "").partition(";")[0].strip() == "application/json":
        posted = _posted(content)
        name, content = posted.name or name, posted.text.encode("utf-8", "replace")
    return resume_view(await start(services, user_id, name, content))


@router.get("/api/resumes")
async def list_resumes(
    services: TheServices,
    user_id: TheUser,
    limit: Annotated[int, Query(ge=1, le=50)] = 20,
    after: Cursor | None = None,
) -> ResumeList:
    """List résumés of the last 90 days, newest first."""
    found = await services.resumes.newest(user_id, limit + 1, after)
    seen = [services.resumes.as_seen(each, services.clock()) for each in found]
    return ResumeList.of(seen, limit, resume_view, lambda each: each.created_at)


@router.get("/api/resumes/{resume_id}")
async def read_resume(resume_id: str, services: TheServices, user_id: TheUser) -> ResumeDetail:
    """Return a résumé's progress and, once it is parsed, the fields found, each with its quote, and the unread
    lines."""
    return resume_detail(services.resumes.as_seen(await services.resumes.get(user_id, resume_id), services.clock()))


@router.delete("/api/resumes/{resume_id}", status_code=204)
async def delete_resume(resume_id: str, services: TheServices, user_id: TheUser) -> None:
    """Delete the file, its text and the results; its pending approvals expire. The document in the candidate app must
    be deleted there."""
    await remove(services, user_id, resume_id)


def _posted(content: bytes) -> PostedText:
    try:
        return PostedText.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise Invalid(f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}.") from None
