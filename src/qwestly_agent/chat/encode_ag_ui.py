"""Encode an answer as AG-UI events. Events that AG-UI lacks are sent as CUSTOM events with the name and data of the
plain protocol."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

from ag_ui.core import (
    AssistantMessage,
    BaseEvent,
    CustomEvent,
    Interrupt,
    MessagesSnapshotEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallResultEvent,
    ToolMessage,
    UserMessage,
)
from ag_ui.core import Message as AGUIMessage
from ag_ui.encoder import EventEncoder
from pydantic_ai.messages import CustomEvent as OurEvent
from pydantic_ai.ui.ag_ui import AGUIAdapter, AGUIEventStream

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.design import NativeEvent
from qwestly_agent.agents.guardrails import ApprovalDecided, ApprovalRequested
from qwestly_agent.approvals.view import ApprovalView, approval_view
from qwestly_agent.base.errors import AgentError
from qwestly_agent.chat.encode_plain import plain_events
from qwestly_agent.chat.prompt import as_model_saw
from qwestly_agent.chat.turn import AnswerStream, Thread
from qwestly_agent.chat.turn_approvals import QuestionAsked
from qwestly_agent.chat.turn_request import RESUME_SCHEMA
from qwestly_agent.model_calls import failure_of
from qwestly_agent.stores.messages import Message


def ag_ui_error(failure: AgentError) -> str:
    return EventEncoder().encode(_error(failure))


def _error(failure: AgentError) -> RunErrorEvent:
    return RunErrorEvent(message=failure.message, code=failure.code)


def _before(thread: Thread) -> Iterator[BaseEvent]:
    """Yield the messages as a stream would have built them, and the approvals that are only queued."""
    yield MessagesSnapshotEvent(messages=[each for message in thread.messages for each in _messages(message, thread)])
    for approval in thread.queued:
        yield CustomEvent(name="approval_required", value=approval_view(approval).model_dump(mode="json"))


def _messages(message: Message, thread: Thread) -> list[AGUIMessage]:
    if message.role == "user":
        return [UserMessage(id=message.id, content=message.content)] if message.content else []
    dumped: list[AGUIMessage] = []
    for each in AGUIAdapter.dump_messages(as_model_saw(message)):
        if isinstance(each, ToolMessage):
            approval = thread.approvals.get(each.tool_call_id)
            if approval in thread.asked:
                continue  # its result is sent with the decision
            if approval:
                each.content = _outcome(approval.status, approval.outcome)
            dumped.append(each)
        elif isinstance(each, AssistantMessage):  # the library's own requests to the model are not part of the chat
            dumped.append(each)
    said = [each for each in dumped if isinstance(each, AssistantMessage)]
    if said:
        said[-1].id = message.id  # lets a client refer to the answer by the id of its last message
    return dumped


def _outcome(status: str, outcome: str | None) -> str:
    return json.dumps({"status": status, "outcome": outcome})


@dataclass
class _AGUIStream(AGUIEventStream[AgentDeps, str]):
    """The library's stream with our own events, our error message and code, and approvals as interrupts."""

    answer_stream: AnswerStream = field(kw_only=True)
    interrupts: list[Interrupt] = field(default_factory=list[Interrupt])

    async def before_stream(self) -> AsyncIterator[BaseEvent]:
        async for event in super().before_stream():
            yield event
        if thread := self.answer_stream.thread:
            calls = {approval.id: call_id for call_id, approval in thread.approvals.items()}
            self.interrupts += [_interrupt(approval_view(each), calls[each.id]) for each in thread.asked]
            for event in _before(thread):
                yield event

    async def handle_event(self, event: NativeEvent) -> AsyncIterator[BaseEvent]:
        async for each in super().handle_event(event):
            yield each
        match event:
            case ApprovalRequested(ends_the_turn=True):
                self.interrupts.append(_interrupt(event.approval, event.call_id))
            case ApprovalDecided(call_id=str(call_id)) if call_id:
                yield ToolCallResultEvent(
                    message_id=self.new_message_id(),
                    tool_call_id=call_id,
                    content=_outcome(event.approval.status, event.approval.outcome),
                )
            case QuestionAsked(text=text):
                # Use the answer's id, so that a client refers to the answer by the id of its last message.
                answer_id = self.answer_stream.message_id
                yield TextMessageStartEvent(message_id=answer_id, role="assistant")
                yield TextMessageContentEvent(message_id=answer_id, delta=text)
                yield TextMessageEndEvent(message_id=answer_id)
            case _:
                pass
        for name, data in plain_events(event, self.answer_stream, spoke=False):
            if name != "text_delta":
                yield CustomEvent(name=name, value=data)

    async def handle_custom_event(self, event: OurEvent) -> AsyncIterator[BaseEvent]:  # noqa: ARG002
        """Yield nothing: `handle_event` sends our events as CUSTOM events."""
        return
        yield

    async def on_error(self, error: Exception) -> AsyncIterator[BaseEvent]:
        async for event in super().on_error(error):
            yield _error(failure_of(error)) if isinstance(event, RunErrorEvent) else event

    async def after_stream(self) -> AsyncIterator[BaseEvent]:
        async for event in super().after_stream():
            if isinstance(event, RunFinishedEvent):
                event.result = {"usage": self.answer_stream.usage(), "stopped": self.cancelled is not None}
                if self.interrupts:
                    event.outcome = RunFinishedInterruptOutcome(interrupts=self.interrupts)
            yield event


def _interrupt(approval: ApprovalView, call_id: str) -> Interrupt:
    return Interrupt(
        id=f"{approval.approval_id}:{call_id}",
        reason="tool_call",
        message=approval.preview.title,
        tool_call_id=call_id,
        response_schema=RESUME_SCHEMA,
        metadata={"approval": approval.model_dump(mode="json")},
    )


def encode_ag_ui(answer_stream: AnswerStream) -> AsyncIterator[str]:
    """Return the events; the last is `RUN_FINISHED` or `RUN_ERROR`."""
    events = _AGUIStream(
        thread_id=answer_stream.conversation_id, run_id=answer_stream.run_id, answer_stream=answer_stream
    )
    return events.encode_stream(events.transform_stream(answer_stream.events))
