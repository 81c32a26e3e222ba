"""A draft in the API: kind, progress, failure and text."""

from typing import Literal, TypeAlias

from pydantic import BaseModel

from qwestly_agent.cards.text import DraftText, text_of_draft
from qwestly_agent.stores.drafts import GATHERING, Draft, DraftKind, DraftStatus

Stage: TypeAlias = Literal["evidence", "writing", "decision"]


class DraftView(BaseModel):
    draft_id: str
    kind: DraftKind
    style: str
    status: DraftStatus
    label: str
    """Progress for the user, such as "Drafting 3 of 6 sections"; the reason if it failed."""
    stage: Stage | None
    """The stage of a draft in progress; null when it has ended."""
    conversation_id: str | None
    approval_id: str | None
    flagged: bool
    """True if it is based on content that the user has forgotten since."""


def view_of(draft: Draft) -> DraftView:
    fields = draft.model_dump(include=DraftView.model_fields.keys() - {"draft_id", "stage"})
    return DraftView(draft_id=draft.id, stage=_stage(draft), **fields)


def _stage(draft: Draft) -> Stage | None:
    match draft.status:
        case "waiting":
            return "decision"
        case "running":
            return "evidence" if draft.label == GATHERING else "writing"
        case _:
            return None


class DraftDetail(DraftView):
    content: DraftText | None
    """Null if there is no text, or not yet."""


def detail_of(draft: Draft) -> DraftDetail:
    return DraftDetail(**view_of(draft).model_dump(), content=text_of_draft(draft))
