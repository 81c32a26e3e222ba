"""Job documents as shown to their user: sentences with quotes, left-out claims, and coverage."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.cards.drafts import checked_of, coverage_of, evidence_of
from qwestly_agent.cards.evidence import sources_of
from qwestly_agent.cards.publication import card_preview, quotes_of, supported_in
from qwestly_agent.documents.content import (
    USUAL,
    Head,
    Position,
    content_of,
    file_of,
    language_of_draft,
    parts_of,
    positions_from_resume,
)
from qwestly_agent.domain.approval import ShownClaim, ShownLeftOut, ShownQuote
from qwestly_agent.domain.card import Claim, TailoredKind
from qwestly_agent.domain.job import HeadField
from qwestly_agent.stores.drafts import Draft, DraftStatus

# --- document view ----------------------------------------------------------------------------------------------------


Status: TypeAlias = Literal["writing", "ready", "failed", "stopped"]
_STATUS: dict[DraftStatus, Status] = {"running": "writing", "drafted": "ready", "stopped": "stopped"}


class DocumentView(BaseModel):
    id: str
    kind: TailoredKind
    job_id: str
    job: str
    """Title and company."""
    status: Status
    label: str
    """Progress for the user; the reason if it failed."""
    version: int
    """1 for the first of its kind for this job."""
    flagged: bool
    """True if it was based on content that the user has forgotten since, which is removed."""
    created_at: datetime


class CoverageItem(BaseModel):
    requirement: str
    met: Literal["met", "partly", "not_met"]
    advert_quote: str
    quotes: list[ShownQuote]
    """The user's words that meet the requirement."""


class DocumentPart(BaseModel):
    key: str
    heading: str
    """Of the section or position; empty for the headline."""
    sentences: list[str]


class DocumentDetail(DocumentView):
    markdown: str | None
    """Null if there is no text, or none yet."""
    head: dict[HeadField, str]
    """Fields available for the header of a document; unknown ones are missing."""
    chosen_head: list[HeadField] | None
    """Fields that the user chose for the header; null until they choose."""
    sentences: list[ShownClaim]
    """Includes positions that the profile does not have, with the words of the résumé that name them."""
    parts: list[DocumentPart]
    """The sentences that the user can change, delete, move and add to; empty if there is no text."""
    revision: int
    """Sent with each change, to identify the text that the user saw."""
    can_undo: bool
    """True if the user's last change can be undone."""
    left_out: list[ShownLeftOut]
    """Unsupported claims, with reasons; they are not part of the document."""
    coverage: list[CoverageItem] | None
    """Null if no judge was available."""


class DocumentList(BaseModel):
    items: list[DocumentView]


def document_views(drafts: Sequence[Draft]) -> list[DocumentView]:
    """Return the views of these drafts, which must be newest first and include all drafts of their jobs."""
    counts: dict[tuple[str, str | None], int] = {}
    views: list[DocumentView] = []
    for draft in reversed(drafts):
        key = (draft.kind, draft.job_id)
        counts[key] = counts.get(key, 0) + 1
        views.append(DocumentView.model_validate(_fields(draft, counts[key])))
    return views[::-1]


def document_detail(draft: Draft, version: int, head: Head, chosen: Sequence[HeadField] | None) -> DocumentDetail:
    coverage = coverage_of(draft)
    is_written = draft.status != "running" and "card" in draft.parts
    checked = checked_of(draft) if is_written else None
    shown_fields = {"name", *(USUAL if chosen is None else chosen)}
    top: Head = {name: value for name, value in head.items() if name in shown_fields}
    try:
        markdown = file_of(content_of(draft, top), "md").decode() if is_written else None
    except NotFound:  # all of its sources were forgotten
        markdown = None
    evidence = evidence_of(draft) if "evidence" in draft.parts else {}
    shown = card_preview(supported_in(draft), evidence) if markdown else None
    sources = sources_of(evidence)
    sentences = [claim for section in shown.sections for claim in section.claims] if shown else []
    language = language_of_draft(draft) if shown else ""
    named = [_shown_position(each, language) for each in positions_from_resume(draft)] if shown else []

    def items() -> Iterator[CoverageItem]:
        for each in coverage.requirements if coverage and coverage.checked else ():
            quotes = list(quotes_of(Claim(text="", quotes=each.quotes), evidence, sources))
            yield CoverageItem(requirement=each.text, met=each.met, advert_quote=each.advert_quote, quotes=quotes)

    left_out = checked.left_out if checked else ()
    return DocumentDetail.model_validate(
        {
            **_fields(draft, version),
            "markdown": markdown,
            "head": head,
            "chosen_head": chosen,
            "sentences": [*sentences, *named],
            "parts": [{**vars(each), "sentences": [claim.text for claim in each.claims]} for each in parts_of(draft)]
            if shown and draft.status == "drafted"
            else [],
            "revision": draft.round,
            "can_undo": bool(draft.parts.get("undo")),
            "left_out": [ShownLeftOut(text=each.claim.text, why=each.why) for each in left_out],
            "coverage": list(items()) if coverage and coverage.checked else None,
        }
    )


def _shown_position(position: Position, language: str) -> ShownClaim:
    """Return a position that is only in the résumé, with the words that name it there."""
    quote = ShownQuote(source=position.evidence[0].source, before="", quote=position.header, after="")
    return ShownClaim(text=", ".join(filter(None, (position.heading, position.time_in(language)))), quotes=(quote,))


def _fields(draft: Draft, version: int) -> dict[str, Any]:
    return {
        **draft.model_dump(include={"id", "kind", "job", "label", "flagged"}),
        "job_id": draft.job_id or "",
        "status": _STATUS.get(draft.status, "failed"),
        "version": version,
        "created_at": to_datetime(draft.created_at),
    }
