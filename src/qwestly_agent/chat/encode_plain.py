"""Encode an answer in the plain protocol: named server-sent events, each with one JSON object."""

import json
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)

from qwestly_agent.agents.design import DesignEvent, NativeEvent
from qwestly_agent.agents.guardrails import ApprovalDecided, ApprovalRequested, Progress
from qwestly_agent.agents.tools.knowledge import Remembered
from qwestly_agent.agents.tools.work import ApprovalShown
from qwestly_agent.approvals.view import ApprovalView, text_or_approval_titles
from qwestly_agent.base.errors import AgentError
from qwestly_agent.chat.outcomes import remembered_view
from qwestly_agent.chat.turn import AnswerStream, DraftEnded, Happened
from qwestly_agent.chat.turn_approvals import QuestionAsked
from qwestly_agent.chat.used_sources import SourcesNamed
from qwestly_agent.model_calls import failure_of
from qwestly_agent.text.clean import visible_data


async def encode_plain(answer_stream: AnswerStream) -> AsyncIterator[str]:
    """Yield the events; the last is `done` or `error`."""
    yield _sse("conversation", {"conversation_id": answer_stream.conversation_id, "run_id": answer_stream.run_id})
    end: dict[str, Any] = {}
    asked: list[ApprovalView] = []
    spoke = False
    try:
        async for event in answer_stream.events:
            if isinstance(event, ApprovalRequested):
                asked.append(event.approval)
            for name, data in plain_events(event, answer_stream, spoke):
                yield _sse(name, data)
                spoke = spoke or name == "text_delta"
    except RunCancelled:
        end = {"stopped": True}
    except Exception as error:
        yield plain_error(failure_of(error))
        return
    content = text_or_approval_titles(answer_stream.content(), asked) if asked else answer_stream.content()
    yield _sse("done", {"content": content, "usage": answer_stream.usage(), **end})


def plain_events(event: NativeEvent, answer_stream: AnswerStream, spoke: bool) -> list[tuple[str, dict[str, Any]]]:
    """Return the names and data of the plain protocol's events for this event. `spoke`: True if text was sent
    before."""
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            # Text after a tool call starts a new paragraph, as in `done`.
            return [("text_delta", {"content": ("\n\n" if spoke else "") + text})] if text or spoke else []
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
            return [("text_delta", {"content": text})]
        case FunctionToolCallEvent(part=call):
            step = answer_stream.step_of(call.tool_call_id)
            told = {"id": step.id, "name": step.name, "label": step.label, "arguments": step.arguments}
            return [("tool_call", told)]
        case FunctionToolResultEvent(part=result):
            step = answer_stream.step_of(result.tool_call_id)
            return [("tool_result", {"id": step.id, "name": step.name, "ok": result.outcome == "success"})]
        case Happened(activity=activity):
            return [("activity", activity.model_dump(mode="json"))]
        case SourcesNamed(sources=sources):
            return [("sources", {"sources": [source.model_dump() for source in sources]})]
        case Progress():
            return [("progress", {"label": event.label})]
        case ApprovalRequested() | ApprovalShown():
            return [("approval_required", event.approval.model_dump(mode="json"))]
        case DraftEnded():
            return [("progress", {"label": f"Your {event.draft.kind}: {event.draft.label}"})]
        case ApprovalDecided():
            return [("approval_decided", event.approval.model_dump(mode="json"))]
        case Remembered():
            return [("memory", remembered_view(event.memory).model_dump(mode="json"))]
        case QuestionAsked(text=text):
            return [("text_delta", {"content": ("\n\n" if spoke else "") + text})]
        case DesignEvent():
            return [(event.kind, visible_data(event.values))]
        case _:
            return []


def plain_error(failure: AgentError) -> str:
    return _sse("error", {"code": failure.code, "message": failure.message})


def _sse(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
