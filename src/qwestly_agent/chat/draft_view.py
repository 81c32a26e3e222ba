"""A draft as the API shows it: what it is, how far it is, why it failed, and what it says."""

from pydantic import BaseModel

from qwestly_agent.cards.text import DraftText, text_of_draft
from qwestly_agent.stores.drafts import Draft, DraftKind, DraftStatus


class DraftView(BaseModel):
    draft_id: str
    kind: DraftKind
    style: str
    status: DraftStatus
    label: str
    """What people read of it, as "Drafting 3 of 6 sections"; of one that failed, why."""
    conversation_id: str | None
    approval_id: str | None
    flagged: bool
    """Whether it rests on something that its user had forgotten since."""


def view_of(draft: Draft) -> DraftView:
    return DraftView(draft_id=draft.id, **draft.model_dump(include=DraftView.model_fields.keys() - {"draft_id"}))


class DraftDetail(DraftView):
    content: DraftText | None
    """Null where there is no text, or not yet."""


def detail_of(draft: Draft) -> DraftDetail:
    return DraftDetail(**view_of(draft).model_dump(), content=text_of_draft(draft))
