"""Sentences for the model about an approval: that it is pending, and later, once, its outcome."""

from collections.abc import Mapping

from qwestly_agent.domain.approval import Approval, Status
from qwestly_agent.stores.drafts import Draft, DraftStatus

NOTHING_NEW = "Do not propose the same again; you will be told what becomes of it."

DRAFT_ENDS: Mapping[Status, tuple[DraftStatus, str]] = {
    "rejected": ("rejected", "You declined, so nothing was done with it"),
    "expired": ("expired", "This wasn’t decided in time, so nothing was done with it"),
    "revised": ("drafted", "Drafted, then stopped. Ask again to continue"),
    "changed": ("drafted", "Drafted, but your card changed in the meantime. Ask again to continue"),
}
"""By the status of an approval whose workflow ended: the draft's status and label. `execute` sets those of approved
ones."""


def pending_line(approval: Approval) -> str:
    """Return the tool result for a proposal that is now pending."""
    where = " It stands in their queue; go on without it." if approval.answer == "queue" else ""
    return f"Waiting for the user's decision on “{approval.preview.title}” ({approval.id}).{where} {NOTHING_NEW}"


def outcome_line(approval: Approval) -> str:
    """Describe the outcome in one line."""
    what = f"“{approval.preview.title}” ({approval.tool}, {approval.id})"
    because = f" They wrote: “{approval.reason}”" if approval.reason else ""
    match approval.status:
        case "pending":
            return f"{what} waits for the user's decision."
        case "rejected":
            return f"The user said no to {what}. Do not propose it again unless they ask for it.{because}"
        case "revised" if approval.revised_by:
            return f"The user wanted {what} otherwise, and was asked about a new version.{because}"
        case "revised" if approval.task_token or approval.redraft_id:
            return f"The user wants {what} otherwise; it is being drafted anew already, so propose nothing.{because}"
        case "revised":
            return f"The user wants {what} otherwise. Propose it anew as they say.{because}"
        case "expired" if approval.outcome:
            return f"{what} is not asked any more. {approval.outcome}"
        case "expired":
            return f"Nobody decided on {what} in time, so nothing was done."
        case "done" if approval.undoes:
            return f"The user undid this: {what}. Do not propose it again unless they ask for it."
        case "approved" | "executing" | "accepted":
            return f"The user said yes to {what}; it is being carried out."
        case "changed" if approval.decided_by == "nobody":
            return f"{what} is not asked any more. {approval.outcome}"
        case "changed":
            return f"The user said yes to {what}. {approval.outcome}"
        case "done" | "failed" | "unknown":
            return f"The user said yes to {what}. {approval.outcome}{_edited(approval)}{because}"


def draft_line(draft: Draft) -> str:
    """Describe the end of a draft in one line."""
    how = "failed" if draft.status == "failed" else f"is {draft.status}"
    return f"The {_kind(draft)} that was being drafted ({draft.id}) {how}: “{draft.label}”."


def running_line(draft: Draft) -> str:
    kind = _kind(draft)
    return f"A{'n' if kind == 'about' else ''} {kind} is being drafted ({draft.id}): “{draft.label}”."


def _kind(draft: Draft) -> str:
    return draft.kind.replace("_", " ")


def _edited(approval: Approval) -> str:
    """Describe the arguments that the user edited, as the model proposed others."""
    return f" As they put it: {approval.args}" if any(" edit " in line for line in approval.audit) else ""
