"""An approval as its user may see it: neither the task token nor a link's hash is among its fields."""

from typing import Any

from pydantic import BaseModel

from qwestly_agent.approvals.actions import ACTIONS
from qwestly_agent.domain.approval import Approval, DecidedBy, Effect, Kind, Preview, Status


class ApprovalView(BaseModel):
    """Moments are seconds since the epoch."""

    approval_id: str
    kind: Kind
    tool: str
    effect: Effect
    status: Status
    preview: Preview
    args: dict[str, Any]
    args_digest: str
    """To be sent with a decision: it names what was seen."""
    editable: list[str]
    """The arguments that may be changed with a yes."""
    revisable: bool
    """Whether it may be wanted otherwise."""
    rationale: str
    alternatives: list[str]
    conversation_id: str | None
    created_at: float
    expires_at: float
    decided_at: float | None
    decided_by: DecidedBy | None
    reason: str | None
    outcome: str | None
    revises: str | None
    revised_by: str | None


class ApprovalList(BaseModel):
    items: list[ApprovalView]
    next: float | None
    """Pass it as `after` for what follows; null at the end."""


def view_of(approval: Approval) -> ApprovalView:
    action = ACTIONS.get(approval.tool)
    return ApprovalView(
        **approval.model_dump(include=ApprovalView.model_fields.keys() - {"args", "alternatives", "preview"}),
        approval_id=approval.id,
        preview=approval.preview,
        args=approval.arguments,
        alternatives=list(approval.alternatives),
        editable=list(action.editable) if action and approval.status == "pending" else [],
    )


def list_of(found: list[Approval], limit: int) -> ApprovalList:
    """Of approvals read with one more than `limit`, which tells whether there are more."""
    items = found[:limit]
    more = len(found) > limit
    return ApprovalList(items=[view_of(each) for each in items], next=items[-1].created_at if more else None)
