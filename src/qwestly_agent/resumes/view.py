"""A résumé as its user sees it."""

from typing import Any

from pydantic import BaseModel

from qwestly_agent.base.clock import Moment
from qwestly_agent.domain.resume import ResumeRecord, ResumeStatus
from qwestly_agent.resumes.profile_changes import documented, unread_lines


class ResumeView(BaseModel):
    id: str
    name: str
    """Of the file."""
    status: ResumeStatus
    label: str
    """How far it is, or why it failed: a sentence."""
    approval_id: str | None
    """The approval that proposes the profile's changes."""
    created_at: Moment
    updated_at: Moment


class FieldView(BaseModel):
    """Where a field of the document was found."""

    quote: str
    original: str
    """The value as it is written there; a date's differs from the document's."""
    start: int
    end: int
    """Of the quote in `text`."""
    is_checked: bool
    """False if no second reader could be asked."""


class LeftOutView(BaseModel):
    path: str
    why: str


class ResumeDetail(ResumeView):
    text: str
    """As it was read, without contact details."""
    resume: dict[str, Any]
    """A JSON Resume document of what was found and stands there."""
    fields: dict[str, FieldView]
    """By the path of each field in `resume`: "/skills/0/name"."""
    unread: list[str]
    """Lines of `text` that no field was found in."""
    left_out: list[LeftOutView]
    """What was found and does not stand there."""


class ResumeList(BaseModel):
    items: list[ResumeView]
    next: str | None
    """Cursor: pass it as `after`; null at the end."""


def view_of(record: ResumeRecord) -> ResumeView:
    return ResumeView(**record.model_dump(include={*ResumeView.model_fields}))


def detail_of(record: ResumeRecord) -> ResumeDetail:
    return ResumeDetail(
        **view_of(record).model_dump(),
        text=record.text,
        resume=documented(record),
        fields={each.path: FieldView(**each.model_dump(exclude={"path", "value"})) for each in record.read or ()},
        unread=unread_lines(record) if record.read is not None else [],
        left_out=[LeftOutView(path=path, why=why) for path, why in record.left_out.items()],
    )
