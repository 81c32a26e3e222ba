"""Messages in the AI SDK's format."""

from typing import Any

from pydantic_ai.ui.vercel_ai import VercelAIAdapter

from qwestly_agent.approvals.ask import id_of_call
from qwestly_agent.approvals.view import view_of as approval_view_of
from qwestly_agent.base.clock import to_iso
from qwestly_agent.cards.drafts import view_of as draft_view_of
from qwestly_agent.chat.encode_ai_sdk import SDK_VERSION, source_part
from qwestly_agent.chat.outcomes import AnswerItems, approvals_shown_with, items_of_answer
from qwestly_agent.chat.prompt import as_model_saw
from qwestly_agent.chat.remembered_view import current_memories
from qwestly_agent.chat.remembered_view import view_of as remembered_view_of
from qwestly_agent.domain.approval import Approval
from qwestly_agent.stores.messages import USAGE, Message, sources_of


def ui_message_of(message: Message, made: AnswerItems) -> dict[str, Any]:
    """Return an AI SDK `UIMessage`, with an answer's calls and results as parts."""
    if message.role == "user":
        parts: list[Any] = [{"type": "text", "text": message.content}]
    else:
        dumped = VercelAIAdapter.dump_messages(as_model_saw(message), sdk_version=SDK_VERSION)
        parts = [
            part.model_dump(mode="json", by_alias=True, exclude_none=True)
            for each in dumped
            if each.role == "assistant"  # the library's own requests to the model are not part of the chat
            for part in each.parts
        ]
        parts += map(source_part, sources_of(message.steps))
        asked = approvals_shown_with(message, made.approvals)
        for each in asked:
            if each.run_id not in message.replaces:
                _show_as_it_is(parts, each, is_paused=made.is_paused)
        views = [approval_view_of(each, is_paused=made.is_paused) for each in asked]
        parts += [
            {"type": "data-approval", "id": each.approval_id, "data": each.model_dump(mode="json")} for each in views
        ]
        parts += [
            {"type": "data-draft", "id": each.id, "data": draft_view_of(each).model_dump(mode="json")}
            for each in items_of_answer(message, made.drafts)
        ]
        parts += [
            {"type": "data-memory", "id": each.id, "data": remembered_view_of(each).model_dump(mode="json")}
            for each in current_memories(message, made.memories)
        ]
        labels = {step.id: step.label for step in message.steps}
        for part in parts:
            if label := labels.get(part.get("toolCallId", "")):
                part["title"] = label
    return {"id": message.id, "role": message.role, "parts": parts, "metadata": _metadata(message)}


def _metadata(message: Message) -> dict[str, Any]:
    """Return the message's time and, for an answer, its cost and feedback."""
    said = {"created_at": to_iso(message.created_at.timestamp()), "status": message.status}
    if message.role == "user":
        return said
    feedback = message.feedback.model_dump(mode="json") if message.feedback else None
    return {**said, **{name: message.receipt.get(name) for name in USAGE}, "feedback": feedback}


def _show_as_it_is(parts: list[Any], approval: Approval, *, is_paused: bool) -> None:
    """Update the call's part to the current state of its approval, as a stream would have sent it; the stored result
    says that it is pending."""
    for part in parts:
        call_id = part.get("toolCallId", "")
        if id_of_call(approval.conversation_id or "", approval.run_id, call_id) != approval.id:
            continue
        if approval.status == "pending" and (is_paused or approval.answer != "ask"):
            continue
        part.pop("output", None)
        match approval.status:
            case "pending":
                why = {"requestReason": approval.rationale} if approval.rationale else {}
                part.update({"state": "approval-requested", "approval": {"id": approval.id, **why}})
            case "rejected":
                part.update({"state": "output-denied", "approval": {"id": approval.id, "approved": False}})
            case status:
                part["output"] = {"status": status, "outcome": approval.outcome}
