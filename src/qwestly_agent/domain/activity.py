"""Activity: events that show users what their agent did, is doing and is waiting for.

An event contains no user text: its title is a fixed sentence, which may include the title of a preview or job, or the
reason that support gave for opening an account, and its data are ids, numbers and enumerated words. It is therefore
kept when a memory is forgotten or a conversation is deleted.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from qwestly_agent.domain.approval import Approval

Severity: TypeAlias = Literal["info", "warning", "action_required"]
Role: TypeAlias = Literal[
    "chat", "interview", "cards", "memory", "briefing", "resumes", "learning", "jobs", "user", "operators"
]
"""Who acted: the agent (in a conversation, interviewing, drafting, remembering, briefing, reading a résumé, teaching,
or searching for jobs), the user, or operators."""


OTHER_EVENTS: Mapping[str, str] = {
    "support.looked": "support read this user's turns; the title contains the reason",
}
"""Types of events that are not about a document, with their explanations for docs/approvals.md. Collections declare the
other types (`platform/collection.py`)."""


class ActivityEvent(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)

    id: str
    user_id: str
    """`EVERYBODY` for the operators' brake."""
    at: float
    """When it happened, in seconds since the epoch."""
    type: str
    """Subject and verb: "approval.done". Declared by a collection, or in `OTHER_EVENTS`."""
    role: Role
    severity: Severity = "info"
    title: str
    run_id: str | None = None
    data: Mapping[str, str | int | tuple[str, ...]] = {}
    """Ids, numbers and enumerated words."""


_APPROVALS: Mapping[str, tuple[str, Severity, str]] = {
    "pending": ("asked", "action_required", "Your approval is asked for"),
    "approved": ("approved", "info", "You approved"),
    "rejected": ("rejected", "info", "You declined"),
    "revised": ("revised", "info", "You asked for changes"),
    "expired": ("expired", "warning", "No longer asked"),
    "executing": ("executing", "info", "Being carried out"),
    "accepted": ("accepted", "info", "Being carried out"),
    "done": ("done", "info", "Done"),
    "failed": ("failed", "warning", "Not done"),
    "unknown": ("unknown", "warning", "Not known yet whether this was done"),
    "changed": ("changed", "warning", "It had changed meanwhile, so nothing was done"),
}
"""The verb, the severity, and the sentence after the preview's title, by status."""
_PERMITTED_BY = {"level": "At your level, your agent does this without asking", "undo": "You asked to undo this"}
_PERMISSION = ("draft_id", "conversation_id", "kind", "tool", "effect", "level", "answer", "decided_by", "undoes")


def of_approval(approval: Approval) -> ActivityEvent:
    """Return the event of an approval whose status has just changed."""
    verb, severity, sentence = _APPROVALS.get(approval.status, (approval.status, "info", approval.status.capitalize()))
    if approval.status == "approved":
        sentence = _PERMITTED_BY.get(approval.decided_by or "", sentence)
    if approval.undoes and approval.status == "done":
        sentence = "Undone"
    if approval.status == "changed" and approval.decided_by == "nobody":
        severity, sentence = "info", "No longer asked"
    fields = {"approval_id": approval.id, **approval.model_dump(include=set(_PERMISSION))}
    return ActivityEvent(
        # Each approval is executed once, and undone by this id.
        id=f"{approval.id}:{'done' if approval.status == 'done' else approval.revision}",
        user_id=approval.user_id,
        at=approval.updated_at,
        type=f"approval.{verb}",
        role=role_of(approval),
        severity=severity,
        title=f"{sentence}: {approval.preview.title}",
        run_id=approval.run_id,
        data={name: value for name, value in fields.items() if value is not None}
        | ({"earned": 1} if approval.earned else {}),
    )


_MEMORIES: Mapping[str, str] = {
    "remembered": "Remembered something you said",
    "corrected": "Corrected what is remembered",
    "undone": "You took back what was remembered",
    "forgotten": "You had something forgotten for good",
}


def of_memory(
    verb: str, user_id: str, memory_id: str, at: float, *, conversation_id: str | None = None
) -> ActivityEvent:
    """Return the event of a memory that was `remembered` or `corrected` (in a conversation, or on the user's page),
    `undone` or `forgotten`."""
    where = {"conversation_id": conversation_id} if conversation_id else {}
    return ActivityEvent(
        id=f"{memory_id}:{verb}",
        user_id=user_id,
        at=at,
        type=f"memory.{verb}",
        role="chat" if conversation_id else "user",
        title=_MEMORIES[verb],
        data={"memory_id": memory_id, **where},
    )


def of_conversation(user_id: str, conversation_id: str, at: float) -> ActivityEvent:
    """Return the event of a deleted conversation."""
    return ActivityEvent(
        id=f"{conversation_id}:deleted",
        user_id=user_id,
        at=at,
        type="conversation.deleted",
        role="user",
        title="You deleted a conversation",
        data={"conversation_id": conversation_id},
    )


def of_deleted(subject: Literal["lesson", "resume"], user_id: str, deleted_id: str, at: float) -> ActivityEvent:
    """Return the event of a lesson or résumé that its user deleted."""
    title = "You deleted a lesson" if subject == "lesson" else "You deleted a résumé"
    return ActivityEvent(
        id=f"{deleted_id}:deleted",
        user_id=user_id,
        at=at,
        type=f"{subject}.deleted",
        role="user",
        title=title,
        data={f"{subject}_id": deleted_id},
    )


def role_of(approval: Approval) -> Role:
    """Return who asked, or who acted last."""
    if approval.undoes and approval.decided_by == "undo":
        return "user"  # the user undid it
    if approval.status in ("approved", "rejected", "revised") and approval.decided_by in (
        "chat",
        "words",
        "queue",
        "link",
    ):
        return "user"
    if approval.kind == "memory":
        return "memory"
    if approval.role == "resumes":
        return "resumes"
    if approval.kind == "application" and approval.conversation_id is None:
        return "jobs"
    return "cards" if approval.kind == "card" or approval.task_token else "chat"
