"""A résumé as shown to its user."""

from typing import Any

from pydantic import BaseModel

from qwestly_agent.base.clock import Moment, Page
from qwestly_agent.domain.resume import ResumeRecord, ResumeStatus
from qwestly_agent.resumes.model import json_resume_document, unread_lines


class ResumeView(BaseModel):
    id: str
    name: str
    """Name of the file."""
    status: ResumeStatus
    label: str
    """Its progress, or why it failed, as a sentence."""
    approval_id: str | None
    """The approval that proposes the changes to the profile."""
    created_at: Moment
    updated_at: Moment


class FieldView(BaseModel):
    """Where a field of the document was found."""

    quote: str
    original: str
    """The value as written in the text; dates are reformatted in the document."""
    start: int
    end: int
    """Position of the quote in `text`."""
    is_checked: bool
    """False if no second model was available."""


class LeftOutView(BaseModel):
    path: str
    why: str


class ResumeDetail(ResumeView):
    text: str
    """The text as it was read, without contact details."""
    resume: dict[str, Any]
    """JSON Resume document with the fields that the text supports."""
    fields: dict[str, FieldView]
    """By the path of each field in `resume`: "/skills/0/name"."""
    unread: list[str]
    """Lines of `text` that belong to no field."""
    left_out: list[LeftOutView]
    """Parsed fields that the text does not support."""


class ResumeList(Page[ResumeView]):
    pass


def resume_view(record: ResumeRecord) -> ResumeView:
    return ResumeView(**record.model_dump(include={*ResumeView.model_fields}))


def resume_detail(record: ResumeRecord) -> ResumeDetail:
    return ResumeDetail(
        **resume_view(record).model_dump(),
        text=record.text,
        resume=json_resume_document(record),
        fields={each.path: FieldView(**each.model_dump(exclude={"path", "value"})) for each in record.read or ()},
        unread=unread_lines(record) if record.read is not None else [],
        left_out=[LeftOutView(path=path, why=why) for path, why in record.left_out.items()],
    )
