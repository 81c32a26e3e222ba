"""Answers and messages in the AI SDK's format."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import AgentRunResultEvent
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import CapabilityEvent, CustomEvent, FunctionToolCallEvent
from pydantic_ai.ui.vercel_ai import VercelAIAdapter, VercelAIEventStream
from pydantic_ai.ui.vercel_ai.response_types import (
    AbortChunk,
    BaseChunk,
    DataChunk,
    DoneChunk,
    ErrorChunk,
    FinishChunk,
    FinishStepChunk,
    MessageMetadataChunk,
    SourceDocumentChunk,
    TextDeltaChunk,
    TextEndChunk,
    TextStartChunk,
    ToolApprovalRequestChunk,
    ToolInputAvailableChunk,
    ToolOutputAvailableChunk,
    ToolOutputDeniedChunk,
)

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.design import DesignEvent
from qwestly_agent.agents.guardrails import ApprovalDecided, ApprovalRequested, Progress
from qwestly_agent.agents.tools.knowledge import Remembered
from qwestly_agent.agents.tools.work import ApprovalShown
from qwestly_agent.approvals.ask import id_of_call
from qwestly_agent.approvals.view import ApprovalView, approval_view
from qwestly_agent.base.clock import to_iso
from qwestly_agent.base.errors import AgentError
from qwestly_agent.cards.drafts import draft_view
from qwestly_agent.chat.outcomes import (
    AnswerItems,
    approvals_shown_with,
    current_memories,
    items_made_by,
    remembered_view,
)
from qwestly_agent.chat.prompt import as_model_saw
from qwestly_agent.chat.turn import AnswerStream, DraftEnded, Happened
from qwestly_agent.chat.turn_approvals import QuestionAsked
from qwestly_agent.chat.used_sources import SourcesNamed
from qwestly_agent.domain.approval import Approval
from qwestly_agent.domain.conversation import Source
from qwestly_agent.model_calls import failure_of
from qwestly_agent.stores.messages import USAGE, Message, sources_of
from qwestly_agent.text.clean import visible_data

# --- encode ai sdk ----------------------------------------------------------------------------------------------------
# Encode an answer in the AI SDK's UI message stream v1.


SDK_VERSION = 6


def ai_sdk_error(failure: AgentError) -> str:
    return f"data: {ErrorChunk(error_text=failure.message).encode(SDK_VERSION)}\n\ndata: [DONE]\n\n"


class _ToolInputAvailableChunk(ToolInputAvailableChunk):
    """The library's chunk with a label added."""

    title: str


class _ToolApprovalRequestChunk(ToolApprovalRequestChunk):
    """The library's chunk with the rationale, which version 7.0.82 and later shows."""

    reason: str | None = None


@dataclass
class _AISDKStream(VercelAIEventStream[AgentDeps, str]):
    """The library's stream with one terminal chunk, our error message instead of the provider's, and our labels."""

    answer_stream: AnswerStream = field(kw_only=True)

    async def handle_function_tool_call(self, event: FunctionToolCallEvent) -> AsyncIterator[BaseChunk]:
        async for chunk in super().handle_function_tool_call(event):
            if isinstance(chunk, ToolInputAvailableChunk):
                title = self.answer_stream.step_of(chunk.tool_call_id).label
                yield _ToolInputAvailableChunk(**vars(chunk), title=title)
            else:
                yield chunk

    async def handle_run_result(self, event: AgentRunResultEvent[Any]) -> AsyncIterator[BaseChunk]:
        async for chunk in super().handle_run_result(event):
            if not isinstance(chunk, MessageMetadataChunk):  # drop the library's metadata, which no stored message has
                yield chunk

    async def on_error(self, error: Exception) -> AsyncIterator[BaseChunk]:
        yield MessageMetadataChunk(message_metadata=self._metadata())
        async for chunk in super().on_error(error):
            yield ErrorChunk(error_text=failure_of(error).message) if isinstance(chunk, ErrorChunk) else chunk

    async def on_cancelled(self, cancelled: RunCancelled) -> AsyncIterator[BaseChunk]:  # noqa: ARG002
        yield MessageMetadataChunk(message_metadata=self._metadata())
        yield AbortChunk(reason="Stopped.")

    def _metadata(self) -> dict[str, Any]:
        """Return the metadata that the answer has when it is loaded again. A continued message keeps its original
        time."""
        stored = self.answer_stream.stored()
        if stored is None:
            return self.answer_stream.usage()
        return {name: each for name, each in _metadata(stored).items() if name != "created_at" or not stored.continues}

    async def handle_capability_event(self, event: CapabilityEvent) -> AsyncIterator[BaseChunk]:
        match event:
            case Progress():
                yield DataChunk(type="data-progress", data={"label": event.label}, transient=True)
            case ApprovalRequested():
                if event.ends_the_turn:
                    yield _ToolApprovalRequestChunk(
                        approval_id=event.approval.approval_id,
                        tool_call_id=event.call_id,
                        reason=event.approval.rationale or None,
                    )
                yield _approval(event.approval)
            case ApprovalDecided():
                if event.call_id:
                    for chunk in _answer_at(event.call_id, event.approval, event.said_yes):
                        yield chunk
                yield _approval(event.approval)
            case Happened(activity=activity):
                data = activity.model_dump(mode="json")
                yield DataChunk(type="data-activity", id=activity.id, data=data, transient=True)
            case SourcesNamed(sources=sources):
                for source in sources:
                    yield _source(source)
            case QuestionAsked(text=text):
                text_id = self.new_message_id()
                yield TextStartChunk(id=text_id)
                yield TextDeltaChunk(id=text_id, delta=text)
                yield TextEndChunk(id=text_id)
            case DraftEnded(draft=draft):
                yield DataChunk(type="data-draft", id=draft.draft_id, data=draft.model_dump(mode="json"))
            case _:
                pass

    async def handle_custom_event(self, event: CustomEvent) -> AsyncIterator[BaseChunk]:
        match event:
            case Remembered():
                memory = remembered_view(event.memory)
                yield DataChunk(type="data-memory", id=memory.id, data=memory.model_dump(mode="json"))
            case ApprovalShown():
                yield _approval(event.approval)
            case DesignEvent():
                yield DataChunk(type=f"data-{event.part}", data=visible_data(event.values), transient=True)
            case _:
                pass

    async def after_stream(self) -> AsyncIterator[BaseChunk]:
        if self.cancelled is None and self._finish_reason != "error":
            if self._step_started:
                yield FinishStepChunk()
            yield FinishChunk(finish_reason=self._finish_reason, message_metadata=self._metadata())
        yield DoneChunk()


def _source(source: Source) -> SourceDocumentChunk:
    return SourceDocumentChunk(
        source_id=source.id,
        media_type="text/plain",
        title=source.title,
        provider_metadata={"qwestly": {"kind": source.kind, "text": source.text}},
    )


def source_part(source: Source) -> dict[str, Any]:
    """Return the `UIMessage` part that a client creates from the chunk of this source."""
    return _source(source).model_dump(mode="json", by_alias=True, exclude_none=True)


def _approval(approval: ApprovalView) -> DataChunk:
    return DataChunk(type="data-approval", id=approval.approval_id, data=approval.model_dump(mode="json"))


def _answer_at(call_id: str, approval: ApprovalView, said_yes: bool) -> Iterator[BaseChunk]:
    """Complete the waiting tool part in the message that the client continues.

    Yields nothing if the approval was already decided differently: the client keeps its own click on the part and
    rejects any other ending, and only version 7 has a chunk that reverts a click. `data-approval` shows the actual
    decision.
    """
    denied = approval.status == "rejected"
    if said_yes == denied:
        return
    if denied:
        yield ToolOutputDeniedChunk(tool_call_id=call_id)
    else:
        output = {"status": approval.status, "outcome": approval.outcome}
        yield ToolOutputAvailableChunk(tool_call_id=call_id, output=output)


def encode_ai_sdk(answer_stream: AnswerStream) -> AsyncIterator[str]:
    """Return the chunks; the last before `[DONE]` is `finish`, `abort` or `error`."""
    chunks = _AISDKStream(
        sdk_version=SDK_VERSION, server_message_id=answer_stream.message_id, answer_stream=answer_stream
    )
    return chunks.encode_stream(chunks.transform_stream(answer_stream.events))


# --- ui message -------------------------------------------------------------------------------------------------------
# Messages in the AI SDK's format.


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
        views = [approval_view(each, is_paused=made.is_paused) for each in asked]
        parts += [
            {"type": "data-approval", "id": each.approval_id, "data": each.model_dump(mode="json")} for each in views
        ]
        parts += [
            {"type": "data-draft", "id": each.id, "data": draft_view(each).model_dump(mode="json")}
            for each in items_made_by(message, made.drafts)
        ]
        parts += [
            {"type": "data-memory", "id": each.id, "data": remembered_view(each).model_dump(mode="json")}
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
    says that the approval is pending."""
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
