"""Conversations in the API."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints
from pydantic_ai.ui.vercel_ai import VercelAIAdapter

from qwestly_agent.agents.tools.work import show_approval
from qwestly_agent.approvals.decide import id_of_call
from qwestly_agent.approvals.view import ApprovalView
from qwestly_agent.approvals.view import view_of as approval_view_of
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.chat.draft_view import DraftView
from qwestly_agent.chat.draft_view import view_of as draft_view_of
from qwestly_agent.chat.remembered_view import RememberedView, current_memories
from qwestly_agent.chat.remembered_view import view_of as remembered_view_of
from qwestly_agent.chat.stream import SDK_VERSION
from qwestly_agent.chat.window import as_model_saw
from qwestly_agent.domain.approval import Approval, Level
from qwestly_agent.domain.memory import Memory
from qwestly_agent.stores.conversations import is_running
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.stores.message import Feedback, Message, Problem, Status, Step
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.turns import role_of, unfinished_turns, user_message
from qwestly_agent.text.clean import well_formed

T = TypeVar("T", Approval, Draft)


class ConversationSummary(BaseModel):
    id: str
    title: str
    created_at: datetime
    updated_at: datetime
    running: bool
    """True while a turn runs."""
    cost_usd: float
    design: str
    role: str


class ConversationList(BaseModel):
    items: list[ConversationSummary]
    next: str | None
    """Cursor: pass it as `after`; null at the end."""


class MessageView(BaseModel):
    id: str
    role: Literal["user", "assistant"]
    content: str
    created_at: datetime
    status: Status
    error: Problem | None = None
    steps: list[Step] = []
    receipt: dict[str, Any] = {}
    feedback: Feedback | None = None
    approvals: list[ApprovalView] = []
    """Approvals that this answer asked for, in their current state."""
    drafts: list[DraftView] = []
    """Drafts that this answer started, in their current state."""
    memories: list[RememberedView] = []
    """Memories that this answer stored or corrected at once, in their current state; without those undone or replaced
    since."""


class ConversationView(ConversationSummary):
    messages: list[MessageView]
    next: str | None
    """Cursor: pass it as `before` for earlier messages; null at the beginning."""


class UIConversation(BaseModel):
    """For `useChat`'s `messages`."""

    id: str
    title: str
    design: str
    role: str
    messages: list[dict[str, Any]]
    next: str | None


class AutonomyView(BaseModel):
    model_config = ConfigDict(extra="forbid")

    level: Level


class FeedbackBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    thumb: Literal["up", "down"] | None
    words: Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000)] | None = None

    def feedback(self, now: datetime) -> Feedback | None:
        if self.thumb is None:
            return None
        return Feedback(thumb=self.thumb, words=well_formed(self.words) if self.words else None, at=now)


class FeedbackGiven(BaseModel):
    id: str
    feedback: Feedback | None


class ErrorDetail(Problem):
    request_id: str


class Failure(BaseModel):
    """The one shape of every error."""

    error: ErrorDetail


@dataclass(frozen=True)
class Made:
    """Made by a conversation's answers; the newest first."""

    approvals: Sequence[Approval]
    drafts: Sequence[Draft]
    memories: Sequence[Memory]
    is_paused: bool
    """True if the brake is on: pending approvals are frozen."""


def list_of(found: Sequence[Document], limit: int, now: float) -> ConversationList:
    """A page of conversations. `found` was read with `limit` + 1, to tell whether there are more."""
    items = found[:limit]
    more = len(found) > limit
    return ConversationList(
        items=[ConversationSummary(**summary_of(each, now)) for each in items],
        next=repr(items[-1]["last_used"]) if more else None,
    )


def view_of(
    conversation: Document,
    said: Sequence[Message],
    made: Made,
    limit: int,
    before: int | None,
    now: float,
) -> ConversationView:
    """A page of messages, the newest before `before`. `said` was read with `limit` + 1, to tell whether there are
    more."""
    return ConversationView(
        **summary_of(conversation, now),
        messages=[_message_view(message, made) for message in _page(conversation, said, limit, before, now)],
        next=_earlier(said, limit),
    )


def ui_view_of(
    conversation: Document,
    said: Sequence[Message],
    made: Made,
    limit: int,
    before: int | None,
    now: float,
) -> UIConversation:
    page = _page(conversation, said, limit, before, now)
    messages = [_ui_message(each, made) for each in page if each.role == "assistant" or each.content]
    return UIConversation(
        id=conversation["id"],
        title=conversation.get("title", ""),
        design=conversation["design"],
        role=role_of(conversation),
        messages=messages,
        next=_earlier(said, limit),
    )


def _earlier(said: Sequence[Message], limit: int) -> str | None:
    return str(said[-limit].seq) if len(said) > limit else None


def summary_of(conversation: Document, now: float) -> dict[str, Any]:
    return {
        "id": conversation["id"],
        "title": conversation.get("title", ""),
        "created_at": conversation.get("created_at") or to_datetime(conversation["last_used"]),
        "updated_at": to_datetime(conversation["last_used"]),
        "running": is_running(conversation, now),
        "cost_usd": conversation.get("cost_usd", 0.0),
        "design": conversation.get("design", "default"),
        "role": role_of(conversation),
    }


def _page(conversation: Document, said: Sequence[Message], limit: int, before: int | None, now: float) -> list[Message]:
    """The messages; on the newest page also user messages of unrecorded turns (running, or whose process died)."""
    page = list(said[-limit:])
    if before is not None:
        return page
    known = {(message.id, message.content) for message in page}
    status: Status = "complete" if is_running(conversation, now) else "interrupted"
    unfinished = [turn for turn in unfinished_turns(conversation) if (turn.message_id, turn.text) not in known]
    return page + [user_message(turn, 0, status) for turn in unfinished if turn.text is not None]


def _message_view(message: Message, made: Made) -> MessageView:
    shown = message.model_dump(include={"id", "role", "content", "created_at", "status", "steps", "receipt"})
    asked = [approval_view_of(each, is_paused=made.is_paused) for each in _shown_with(message, made.approvals)]
    begun = [draft_view_of(each) for each in _of_answer(message, made.drafts)]
    noted = [remembered_view_of(each) for each in current_memories(message, made.memories)]
    return MessageView(
        **shown, error=message.error, feedback=message.feedback, approvals=asked, drafts=begun, memories=noted
    )


def _of_answer(message: Message, made: Sequence[T]) -> list[T]:
    """The items that this answer made, or those that it replaced; oldest first."""
    runs = (message.run_id, *message.replaces) if message.role == "assistant" else ()
    return [each for each in reversed(made) if each.run_id in runs]


def shown_again(message: Message) -> set[str]:
    """Ids of the approvals whose cards this answer showed again."""
    ids = set()
    for step in message.steps:
        if step.name == show_approval.__name__ and step.ok:
            with suppress(ValueError):  # cut
                ids.add(json.loads(step.arguments)["approval_id"])
    return ids


def _shown_with(message: Message, approvals: Sequence[Approval]) -> list[Approval]:
    """The approvals that this answer asked for, and those that it showed again."""
    asked, again = _of_answer(message, approvals), shown_again(message)
    return [*asked, *(each for each in approvals if each.id in again and each not in asked)]


def _ui_message(message: Message, made: Made) -> dict[str, Any]:
    """An AI SDK `UIMessage`, with an answer's calls and results as parts."""
    if message.role == "user":
        parts: list[Any] = [{"type": "text", "text": message.content}]
    else:
        dumped = VercelAIAdapter.dump_messages(as_model_saw(message), sdk_version=SDK_VERSION)
        parts = [
            part.model_dump(mode="json", by_alias=True, exclude_none=True) for each in dumped for part in each.parts
        ]
        asked = _shown_with(message, made.approvals)
        for each in asked:
            if each.run_id not in message.replaces:
                _show_as_it_is(parts, each, is_paused=made.is_paused)
        views = [approval_view_of(each, is_paused=made.is_paused) for each in asked]
        parts += [
            {"type": "data-approval", "id": each.approval_id, "data": each.model_dump(mode="json")} for each in views
        ]
        parts += [
            {"type": "data-draft", "id": each.id, "data": draft_view_of(each).model_dump(mode="json")}
            for each in _of_answer(message, made.drafts)
        ]
        parts += [
            {"type": "data-memory", "id": each.id, "data": remembered_view_of(each).model_dump(mode="json")}
            for each in current_memories(message, made.memories)
        ]
    return {"id": message.id, "role": message.role, "parts": parts}


def _show_as_it_is(parts: list[Any], approval: Approval, *, is_paused: bool) -> None:
    """Show the call as its approval stands now, as a stream would have told it; the model's result says that it
    waits."""
    for part in parts:
        call_id = part.get("toolCallId", "")
        if id_of_call(approval.conversation_id or "", approval.run_id, call_id) != approval.id:
            continue
        if approval.status == "pending" and (is_paused or approval.answer != "ask"):
            continue
        part.pop("output", None)
        match approval.status:
            case "pending":
                part.update({"state": "approval-requested", "approval": {"id": approval.id}})
            case "rejected":
                part.update({"state": "output-denied", "approval": {"id": approval.id, "approved": False}})
            case status:
                part["output"] = {"status": status, "outcome": approval.outcome}
