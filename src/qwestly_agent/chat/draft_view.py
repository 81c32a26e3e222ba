"""A draft in the API: kind, progress, failure and text."""

from pydantic import BaseModel

from qwestly_agent.cards.text import DraftText, text_of_draft
from qwestly_agent.stores.drafts import Draft, DraftKind, DraftStatus


class DraftView(BaseModel):
    draft_id: str
    kind: DraftKind
    style: str
    status: DraftStatus
    label: str
    """Progress for the user, such as "Drafting 3 of 6 sections"; the reason if it failed."""
    conversation_id: str | None
    approval_id: str | None
    flagged: bool
    """True if it rests on something that the user had forgotten since."""


def view_of(draft: Draft) -> DraftView:
    return DraftView(draft_id=draft.id, **draft.model_dump(include=DraftView.model_fields.keys() - {"draft_id"}))


class DraftDetail(DraftView):
    content: DraftText | None
    """Null if there is no text, or not yet."""


def detail_of(draft: Draft) -> DraftDetail:
    return DraftDetail(**view_of(draft).model_dump(), content=text_of_draft(draft))
