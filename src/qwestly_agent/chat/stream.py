"""Encode a turn's events in the client's protocol.

The turn runs in a task of its own and the response reads from a queue, so a closed connection does not stop the turn.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import (
    CapabilityEvent,
    CustomEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.ui import NativeEvent
from pydantic_ai.ui.vercel_ai import VercelAIEventStream
from pydantic_ai.ui.vercel_ai.response_types import (
    AbortChunk,
    BaseChunk,
    DataChunk,
    DoneChunk,
    ErrorChunk,
    FinishChunk,
    FinishStepChunk,
    ToolApprovalRequestChunk,
    ToolOutputAvailableChunk,
    ToolOutputDeniedChunk,
)

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.design import DesignEvent
from qwestly_agent.agents.guardrails import Asked, Decided, Progress
from qwestly_agent.agents.tools.memories import Remembered
from qwestly_agent.agents.tools.work import ShownAgain
from qwestly_agent.approvals.view import ApprovalView
from qwestly_agent.base.errors import AgentError, Internal
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.chat.approval_updates import DraftEnded
from qwestly_agent.chat.record import step_of
from qwestly_agent.chat.remembered_view import view_of as remembered_view_of
from qwestly_agent.chat.request import Protocol
from qwestly_agent.chat.run_turn import RunServices, run_turn
from qwestly_agent.chat.turn import Turn
from qwestly_agent.model_calls.failures import failure_of
from qwestly_agent.text.clean import visible_data, well_formed

SDK_VERSION = 6
KEEP_ALIVE_SECONDS = 10.0
"""Below the 15 s that we promise, and far below the 30 s after which a CDN closes a silent stream."""

_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


def headers_of(protocol: Protocol) -> dict[str, str]:
    return {**_HEADERS, "x-vercel-ai-ui-message-stream": "v1"} if protocol == "ai_sdk" else _HEADERS


_LINE_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\u0085\u2028\u2029"}
"""Some line readers split at these characters, although server-sent events do not; in JSON we can escape them."""


def start_stream(
    services: RunServices, turn: Turn, protocol: Protocol, keep_alive_seconds: float
) -> AsyncIterator[str]:
    """Start the turn and return the chunks of the response, until the turn is over."""
    queue: asyncio.Queue[str | None] = asyncio.Queue()
    services.running.start(_pump(services, turn, protocol, queue))
    return _drain(queue, keep_alive_seconds)


async def _pump(services: RunServices, turn: Turn, protocol: Protocol, queue: asyncio.Queue[str | None]) -> None:
    try:
        async for event in encode_ai_sdk(services, turn) if protocol == "ai_sdk" else encode_plain(services, turn):
            queue.put_nowait(well_formed(event).translate(_LINE_ENDS))
    except Exception as error:
        # An event cannot be encoded: the client must still get an end.
        services.logger.error(Event.STREAM_FAILED, extra=cause_of(error))
        queue.put_nowait(_ai_sdk_error(Internal()) if protocol == "ai_sdk" else _plain_error(Internal()))
    finally:
        queue.put_nowait(None)


async def _drain(queue: asyncio.Queue[str | None], keep_alive_seconds: float) -> AsyncIterator[str]:
    while True:
        try:
            event = await asyncio.wait_for(queue.get(), keep_alive_seconds)
        except TimeoutError:
            yield ": still here\n\n"
            continue
        if event is None:
            return
        yield event


async def encode_plain(services: RunServices, turn: Turn) -> AsyncIterator[str]:
    """Named SSE events, each with one JSON object; the last one is `done` or `error`."""
    yield _sse("conversation", {"conversation_id": turn.claim.conversation_id, "run_id": turn.answer_run_id})
    end: dict[str, Any] = {}
    try:
        async for event in run_turn(services, turn):
            for name, data in _plain_events(event, turn):
                yield _sse(name, data)
    except RunCancelled:
        end = {"stopped": True}
    except Exception as error:
        yield _plain_error(failure_of(error))
        return
    yield _sse("done", {"content": turn.record.content, "usage": turn.record.usage(), **end})


def _plain_events(event: NativeEvent, turn: Turn) -> list[tuple[str, dict[str, Any]]]:
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            # Text after a tool call begins a new paragraph, as in `done`.
            spoken = any(turn.record.texts[:-1])
            return [("text_delta", {"content": ("\n\n" if spoken else "") + text})] if text or spoken else []
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
            return [("text_delta", {"content": text})]
        case FunctionToolCallEvent(part=call):
            step = step_of(turn.record.calls.made[call.tool_call_id])
            return [("tool_call", {"id": step.id, "name": step.name, "label": step.label})]
        case FunctionToolResultEvent(part=result):
            step = step_of(turn.record.calls.made[result.tool_call_id])
            return [("tool_result", {"id": step.id, "name": step.name, "ok": result.outcome == "success"})]
        case Progress():
            return [("progress", {"label": event.label})]
        case Asked() | ShownAgain():
            return [("approval_required", event.approval.model_dump(mode="json"))]
        case DraftEnded():
            return [("progress", {"label": f"Your {event.draft.kind}: {event.draft.label}"})]
        case Decided():
            return [("approval_decided", event.approval.model_dump(mode="json"))]
        case Remembered():
            return [("memory", remembered_view_of(event.memory).model_dump(mode="json"))]
        case DesignEvent():
            return [(event.kind, visible_data(event.values))]
        case _:
            return []


def _plain_error(failure: AgentError) -> str:
    return _sse("error", {"code": failure.code, "message": failure.message})


def _ai_sdk_error(failure: AgentError) -> str:
    return f"data: {ErrorChunk(error_text=failure.message).encode(SDK_VERSION)}\n\ndata: [DONE]\n\n"


def _sse(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


@dataclass
class _AISDKStream(VercelAIEventStream[AgentDeps, str]):
    """The library's stream with one terminal chunk, and our error message in place of the provider's."""

    async def on_error(self, error: Exception) -> AsyncIterator[BaseChunk]:
        async for chunk in super().on_error(error):
            yield ErrorChunk(error_text=failure_of(error).message) if isinstance(chunk, ErrorChunk) else chunk

    async def on_cancelled(self, cancelled: RunCancelled) -> AsyncIterator[BaseChunk]:  # noqa: ARG002
        yield AbortChunk(reason="Stopped.")

    async def handle_capability_event(self, event: CapabilityEvent) -> AsyncIterator[BaseChunk]:
        match event:
            case Progress():
                yield DataChunk(type="data-progress", data={"label": event.label}, transient=True)
            case Asked():
                if event.ends_the_turn:
                    yield ToolApprovalRequestChunk(approval_id=event.approval.approval_id, tool_call_id=event.call_id)
                yield _approval(event.approval)
            case Decided():
                if event.call_id:
                    for chunk in _answer_at(event.call_id, event.approval, event.said_yes):
                        yield chunk
                yield _approval(event.approval)
            case DraftEnded(draft=draft):
                yield DataChunk(type="data-draft", id=draft.draft_id, data=draft.model_dump(mode="json"))
            case _:
                pass

    async def handle_custom_event(self, event: CustomEvent) -> AsyncIterator[BaseChunk]:
        match event:
            case Remembered():
                memory = remembered_view_of(event.memory)
                yield DataChunk(type="data-memory", id=memory.id, data=memory.model_dump(mode="json"))
            case ShownAgain():
                yield _approval(event.approval)
            case DesignEvent():
                yield DataChunk(type=f"data-{event.kind}", data=visible_data(event.values), transient=True)
            case _:
                pass

    async def after_stream(self) -> AsyncIterator[BaseChunk]:
        if self.cancelled is None and self._finish_reason != "error":
            if self._step_started:
                yield FinishStepChunk()
            yield FinishChunk(finish_reason=self._finish_reason)
        yield DoneChunk()


def _approval(approval: ApprovalView) -> DataChunk:
    return DataChunk(type="data-approval", id=approval.approval_id, data=approval.model_dump(mode="json"))


class _ToolApprovalResponseChunk(BaseChunk):
    """Missing in the library."""

    type: Literal["tool-approval-response"] = "tool-approval-response"
    approval_id: str
    approved: bool


def _answer_at(call_id: str, approval: ApprovalView, said_yes: bool) -> Iterator[BaseChunk]:
    """Complete the waiting tool part in the message that the client goes on building."""
    denied = approval.status == "rejected"
    if said_yes == denied:  # decided otherwise elsewhere before: a client rejects a part with both
        yield _ToolApprovalResponseChunk(approval_id=approval.approval_id, approved=not denied)
    if denied:
        yield ToolOutputDeniedChunk(tool_call_id=call_id)
    else:
        output = {"status": approval.status, "outcome": approval.outcome}
        yield ToolOutputAvailableChunk(tool_call_id=call_id, output=output)


def encode_ai_sdk(services: RunServices, turn: Turn) -> AsyncIterator[str]:
    """UI message stream v1; the last chunk before `[DONE]` is `finish`, `abort` or `error`."""
    chunks = _AISDKStream(sdk_version=SDK_VERSION, server_message_id=turn.continues or turn.answer_id)
    return chunks.encode_stream(chunks.transform_stream(run_turn(services, turn)))
