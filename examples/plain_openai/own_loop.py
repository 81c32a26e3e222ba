"""Guardrails, tools and events for a design whose loop is its own, over any client or framework.

The loop gets the next request, sends it to its model, streams the text, and hands in the whole answer:

    async def loop(run: LoopRun) -> None:
        while request := await run.next_request():
            ...
            await run.answer(response)

Messages are pydantic-ai's, in which conversations are stored, so that a design can read another one's.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.capabilities import CombinedCapability
from pydantic_ai.exceptions import (
    CallDeferred,
    RunCancelled,
    RunTimedOut,
    SkipModelRequest,
    ToolFailed,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.design import AgentTurn, DesignEvent, NativeEvent
from qwestly_agent.agents.make import guardrails

INTERRUPTED = "The call was interrupted: whether it did anything is not known."

Queue = asyncio.Queue[NativeEvent | None]


@dataclass
class _Context(RunContext[AgentDeps]):
    """Sends what tools and guardrails emit to the run's own queue."""

    queue: Queue = field(default_factory=Queue)

    async def emit(self, event: Any, /) -> Any:
        if event.tool_call_id is None:
            event.tool_call_id, event.tool_name = self.tool_call_id, self.tool_name
        self.queue.put_nowait(event)
        return event


@dataclass(frozen=True)
class OwnLoop:
    """A `TurnAgent` whose loop is the design's."""

    loop: "Callable[[LoopRun], Awaitable[None]]"
    model: Model
    """The model whose price counts."""
    instructions: str
    tools: Sequence[Tool[AgentDeps]]
    prompt_version: str

    def __post_init__(self) -> None:
        # Raises `InvalidSettings` for a tool that declares no effect.
        Agent(self.model, deps_type=AgentDeps, tools=self.tools, capabilities=guardrails())

    @asynccontextmanager
    async def run(self, turn: AgentTurn) -> AsyncIterator["LoopRun"]:
        run = LoopRun(self, turn)
        try:
            yield run
        finally:
            await run.close()


class LoopRun:
    """One turn of an `OwnLoop`."""

    def __init__(self, agent: OwnLoop, turn: AgentTurn) -> None:
        self._agent, self._turn = agent, turn
        self._queue: Queue = Queue()
        self._toolset = FunctionToolset(list(agent.tools))
        self._prompt = ModelRequest(parts=[UserPromptPart(turn.prompt)])
        self._new: list[ModelMessage] = []
        self._said = ""
        """Text of the answer that is not handed in yet."""
        self._parts = 0
        self._over = False
        self._request: ModelRequestContext | None = None
        self._task: asyncio.Task[None] | None = None
        turn.cancellation.cancel_functions.append(self._cancel)

    async def next_request(self) -> ModelRequestContext | None:
        """Return the next request to the model: messages with fenced results, offered tools, and instructions; None if
        the answer is over. Raises the guardrails' refusals."""
        if self._over:
            return None
        listed = await self._toolset.get_tools(self._context)
        offered = await self._guards.prepare_tools(self._context, [each.tool_def for each in listed.values()])
        instructions = [InstructionPart(each) for each in (self._agent.instructions, self._turn.context)]
        asked = ModelRequestContext(
            model=self._agent.model,
            messages=[*self._turn.history, *self._messages],
            model_settings=None,
            model_request_parameters=ModelRequestParameters(function_tools=offered, instruction_parts=instructions),
        )
        try:
            self._request = await self._guards.before_model_request(self._context, asked)
        except SkipModelRequest as fixed:  # for a person in trouble, or for a card that a typed answer cannot decide
            self._keep_prompt()
            self.say(fixed.response.text or "")
            self._end_text()
            self._new.append(fixed.response)
            return None
        return self._request

    def say(self, text: str) -> None:
        """Stream text of the answer to the user."""
        if not text:
            return
        if self._said:
            self._queue.put_nowait(PartDeltaEvent(index=self._parts, delta=TextPartDelta(text)))
        else:
            self._queue.put_nowait(PartStartEvent(index=self._parts, part=TextPart(text)))
        self._said += text

    async def emit(self, event: DesignEvent) -> None:
        await self._context.emit(event)

    async def answer(self, response: ModelResponse) -> None:
        """Hand in a whole answer with its usage, and run the tools that it calls, all at once. Without calls, or if one
        of them waits for the user, the turn is over."""
        if self._request is None:
            raise UserError("There was no request to answer.")
        self._keep_prompt()
        self._end_text()
        self._new.append(response)
        for call in response.tool_calls:
            self._queue.put_nowait(PartStartEvent(index=self._parts, part=call))
            self._queue.put_nowait(PartEndEvent(index=self._parts, part=call))
            self._parts += 1
        await self._queue.join()  # ids are made unique on the way, by the calls so far, before these are counted
        request, self._request = self._request, None
        response = replace(response, model_id=self._agent.model.model_id)
        self._new[-1] = response = await self._guards.after_model_request(
            self._context, request_context=request, response=response
        )
        self._parts = 0
        if response.tool_calls:
            await self._call_all(response.tool_calls)
        elif response.text:
            self._over = True
        else:
            raise UnexpectedModelBehavior("The answer is empty.")

    def new_messages(self) -> list[ModelMessage]:
        rest = [ModelResponse(parts=[TextPart(self._said)], model_name=self._agent.model.model_name)]
        return [*self._messages, *(rest if self._said else [])]

    async def __aiter__(self) -> AsyncIterator[NativeEvent]:
        self._task = asyncio.ensure_future(self._drive())
        while event := await self._queue.get():
            yield event
            self._queue.task_done()
        await self._task

    async def close(self) -> None:
        if self._task and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    @cached_property
    def _context(self) -> _Context:
        context = _Context(deps=self._turn.deps, model=self._agent.model, usage=RunUsage(), queue=self._queue)
        context.run_id, context.conversation_id = self._turn.run_id, self._turn.conversation_id
        return context

    @cached_property
    def _guards(self) -> CombinedCapability[AgentDeps]:
        return CombinedCapability(guardrails())

    @property
    def _messages(self) -> list[ModelMessage]:
        return self._new or [self._prompt]

    def _keep_prompt(self) -> None:
        if not self._new:
            self._new.append(self._prompt)

    def _cancel(self) -> None:
        if self._task:
            self._task.cancel()

    async def _drive(self) -> None:
        limit = asyncio.timeout(self._turn.seconds)
        try:
            if self._turn.cancellation.cancelled:
                raise RunCancelled("The run was cancelled before it began.")
            async with limit:
                await self._guards.before_run(self._context)
                await self._agent.loop(self)
        except asyncio.CancelledError:
            if self._turn.cancellation.cancelled:
                raise RunCancelled("The run was cancelled.") from None
            raise
        except TimeoutError:
            if limit.expired():
                raise RunTimedOut("The run took too long.") from None
            raise
        finally:
            self._queue.put_nowait(None)

    def _end_text(self) -> None:
        if self._said:
            self._queue.put_nowait(PartEndEvent(index=self._parts, part=TextPart(self._said)))
            self._said, self._parts = "", self._parts + 1

    async def _call_all(self, calls: Sequence[ToolCallPart]) -> None:
        returned: dict[str, ToolReturnPart] = {}
        for call in calls:
            self._queue.put_nowait(FunctionToolCallEvent(call))
        running = [asyncio.ensure_future(self._call(call, returned)) for call in calls]
        try:
            await asyncio.gather(*running)
        finally:
            for each in running:
                each.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            waiting = {each.id for each in self._turn.deps.turn.calls.made.values() if each.outcome == "waiting"}
            self._over = self._over or bool(waiting - returned.keys())
            parts = [returned.get(call.tool_call_id) or _interrupted(call) for call in calls]
            kept = [part for part in parts if part.outcome != "interrupted" or part.tool_call_id not in waiting]
            if kept:
                self._new.append(ModelRequest(parts=kept))

    async def _call(self, call: ToolCallPart, returned: dict[str, ToolReturnPart]) -> None:
        try:
            part = ToolReturnPart(call.tool_name, await self._result_of(call), tool_call_id=call.tool_call_id)
        except ToolFailed as failed:
            part = ToolReturnPart(call.tool_name, failed.message, tool_call_id=call.tool_call_id, outcome="failed")
        except CallDeferred:  # the user decides: the turn ends
            return
        returned[call.tool_call_id] = part
        self._queue.put_nowait(FunctionToolResultEvent(part))

    async def _result_of(self, call: ToolCallPart) -> Any:
        listed = await self._toolset.get_tools(self._context)
        tool = listed.get(call.tool_name)
        if tool is None:
            raise ToolFailed(
                self._turn.deps.turn.calls.made[call.tool_call_id].message_for_model or "There is no such tool."
            )
        context = replace(self._context, tool_call_id=call.tool_call_id, tool_name=call.tool_name)

        async def validate(given: str | dict[str, Any]) -> dict[str, Any]:
            if isinstance(given, str):
                return tool.args_validator.validate_json(given or "{}")
            return tool.args_validator.validate_python(given)

        async def execute(arguments: dict[str, Any]) -> Any:
            return await self._toolset.call_tool(call.tool_name, arguments, context, tool)

        arguments = await self._guards.wrap_tool_validate(
            context, call=call, tool_def=tool.tool_def, args=call.args or "{}", handler=validate
        )
        return await self._guards.wrap_tool_execute(
            context, call=call, tool_def=tool.tool_def, args=arguments, handler=execute
        )


def _interrupted(call: ToolCallPart) -> ToolReturnPart:
    return ToolReturnPart(call.tool_name, INTERRUPTED, tool_call_id=call.tool_call_id, outcome="interrupted")
