"""The API's view of an approval, without task token and link hashes."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from qwestly_agent.base.clock import Moment, with_iso_moments
from qwestly_agent.domain.approval import Approval, Confidence, DecidedBy, Effect, Kind, Preview, Returned, Status

MAIL_PROBLEMS: Mapping[Returned, str] = {
    "bounce": "Your mail came back, so please decide here. Is the address in your profile right?",
    "complaint": "Our mail was reported as spam, so we send no more to your address. Please decide here.",
}
OPEN = ("pending", "frozen")


class ApprovalView(BaseModel):
    approval_id: str
    kind: Kind
    tool: str
    effect: Effect
    status: Status | Literal["frozen"]
    """`frozen`: pending, but cannot be decided while the brake is on."""
    preview: Preview
    args: dict[str, Any]
    args_digest: str
    """Send it with a decision: it identifies the version that was seen."""
    editable: list[str]
    """Arguments that can be edited when approving."""
    revisable: bool
    """True if changes can be requested."""
    rationale: str
    alternatives: list[str]
    confidence: Confidence | None
    conversation_id: str | None
    created_at: Moment
    expires_at: Moment
    decided_at: Moment | None
    decided_by: DecidedBy | None
    reason: str | None
    outcome: str | None
    mail_problem: str | None
    """Why the user gets no mail about it; null if there is no problem."""
    link: str | None
    """Public address of the result; null if it is not public."""
    undo_until: Moment | None
    """Until when it can be undone; null if it cannot."""
    undoes: str | None
    undone_by: str | None
    revises: str | None
    revised_by: str | None
    round: int
    """Counts from 1; a change request starts the next round."""
    wish: str | None
    """The user's change request of the previous round."""
    redraft_id: str | None
    """The draft made after a change request; `revised_by` names the approval it leads to."""


class ApprovalList(BaseModel):
    items: list[ApprovalView]
    next: str | None
    """Cursor: pass it as `after`; null at the end."""


def view_of(approval: Approval, *, is_paused: bool = False) -> ApprovalView:
    status = "frozen" if is_paused and approval.status == "pending" else approval.status
    return ApprovalView(
        **approval.model_dump(
            include=ApprovalView.model_fields.keys()
            - {"args", "alternatives", "editable", "link", "mail_problem", "preview", "status", "undo_until"}
        ),
        approval_id=approval.id,
        status=status,
        link=public_url(approval),
        mail_problem=MAIL_PROBLEMS[approval.returned_as] if approval.returned_as and status in OPEN else None,
        undo_until=approval.undo_until,
        preview=approval.preview,
        args=with_iso_moments(approval.arguments),
        alternatives=list(approval.alternatives),
        editable=list(approval.editable) if status == "pending" else [],
    )


def content_or_titles(content: str, asked: Sequence[ApprovalView]) -> str:
    """Return the answer's text or, without text, the approvals it requests."""
    return content or "\n\n".join(f"For your decision: {each.preview.title}" for each in asked)


def public_url(approval: Approval) -> str | None:
    """Return the public address of the result; None if it is not public."""
    url = approval.result.get("url", "")
    return url if approval.effect == "outward" and url.startswith(("https://", "http://127.0.0.1:")) else None


def list_of(found: list[Approval], limit: int, *, is_paused: bool) -> ApprovalList:
    """Return a page of approvals. `found` was read with `limit` + 1, to detect further ones."""
    items = found[:limit]
    more = len(found) > limit
    views = [view_of(each, is_paused=is_paused) for each in items]
    return ApprovalList(items=views, next=repr(items[-1].created_at) if more else None)
