"""What a model is told of an approval: that it waits, and later, once, what became of it."""

from qwestly_agent.authority.model import Approval

NOTHING_NEW = "Do not propose the same again; you will be told what becomes of it."


def waiting(approval: Approval) -> str:
    """The result of the call that asked."""
    where = " It stands in their queue; go on without it." if approval.answer == "queue" else ""
    return f"Waiting for the user's decision on “{approval.preview.title}” ({approval.id}).{where} {NOTHING_NEW}"


def news_of(approval: Approval) -> str:
    """What became of it, in one line."""
    what = f"“{approval.preview.title}” ({approval.tool}, {approval.id})"
    because = f" They wrote: “{approval.reason}”" if approval.reason else ""
    match approval.status:
        case "pending":
            return f"{what} waits for the user's decision."
        case "rejected":
            return f"The user said no to {what}. Do not propose it again unless they ask for it.{because}"
        case "revised":
            return f"The user wants {what} otherwise. Propose it anew as they say.{because}"
        case "expired":
            return f"Nobody decided on {what} in time, so nothing was done."
        case "approved" | "executing":
            return f"The user said yes to {what}; it is being carried out."
        case "changed":
            return f"The user said yes to {what}, but it had changed meanwhile. Nothing was done; they are asked again."
        case "done" | "failed" | "unknown":
            return f"The user said yes to {what}. {approval.outcome}{_edited(approval)}{because}"


def _edited(approval: Approval) -> str:
    """What was done is what stands in the record, which may be other than what the model proposed."""
    return f" As they put it: {approval.args}" if any(" edit " in line for line in approval.audit) else ""
