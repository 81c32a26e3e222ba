"""Guardrails of every run, independent of its design and model: these capabilities, and `model_calls.BoundedCost`.

- `BoundedTools`: limits the number of calls, their time and the length of results, refuses repeated calls, withdraws a
  tool that keeps failing, and turns errors into sentences. `agents.base` records the calls, also for the audit.
  A tool that would change something only proposes the change: the proposal is submitted, and the gate decides.
- `FencedData`: encloses each tool result in the prompt in tags that its text cannot close.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pydantic import ValidationError
from pydantic_ai import RunContext
from pydantic_ai.agent.abstract import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler, WrapToolValidateHandler
from pydantic_ai.exceptions import CallDeferred, ModelRetry, ToolFailed, UnexpectedModelBehavior
from pydantic_ai.framing import wrap
from pydantic_ai.messages import (
    CapabilityEvent,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset
from pydantic_core import to_json, to_jsonable_python

from qwestly_agent.agents.base import (
    AgentDeps,
    Call,
    Contract,
    arguments_problem,
    contract_of,
    contracts_of,
    error_of_tool,
    tool_problem,
    unique_call_id,
    valid_tool_name,
)
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.approvals.autonomy import OFFERED, gate
from qwestly_agent.approvals.end import pending_line
from qwestly_agent.approvals.propose import Proposer
from qwestly_agent.approvals.view import ApprovalView, approval_view
from qwestly_agent.base.errors import Braked, DataGone, Invalid, InvalidSettings, NotFound, TooManySteps
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.domain.approval import Effect
from qwestly_agent.llm.client import HAS_MARKUP
from qwestly_agent.model_calls import failure_of
from qwestly_agent.text.clean import ids_in, quoted, visible_data, well_formed

Context: TypeAlias = RunContext[AgentDeps]

GATED: frozenset[Effect] = frozenset({"write", "outward", "destructive"})
"""Effects that a tool may only propose. A tool with the effect "memory" may act at once or propose."""

NOBODY_READ = (
    "Your last answer had markup of a tool call in its text: nobody saw it, and no tool ran. Call the tool, or answer "
    "in plain words."
)
NONE_LEFT = "No tool is left for this request. Answer now in words, from what you have found."
MOST_CALLS_AT_ONCE = 50
LONGEST_ARGUMENTS = 10_000
"""Maximum number of characters as JSON. Arguments are sent again with every later request, so long ones cost each
time."""


@dataclass(kw_only=True)
class Progress(CapabilityEvent, namespace="qwestly"):
    """A progress message for the user during a turn; AI SDK clients receive it as `data-progress`."""

    label: str


@dataclass(kw_only=True)
class ApprovalRequested(CapabilityEvent, namespace="qwestly"):
    """A call requires the user's approval."""

    approval: ApprovalView
    call_id: str
    ends_the_turn: bool


@dataclass(kw_only=True)
class ApprovalDecided(CapabilityEvent, namespace="qwestly"):
    """The outcome of an approval that was decided in this turn."""

    approval: ApprovalView
    call_id: str | None
    """The tool call whose part shows the approval in the client."""
    said_yes: bool
    """True if the client shows a yes there, even one that came too late."""


class BoundedTools(AbstractCapability[AgentDeps]):
    def for_agent(self, agent: AbstractAgent[AgentDeps, Any]) -> "BoundedTools":
        for toolset in agent.toolsets:
            if isinstance(toolset, FunctionToolset):
                for name, tool in toolset.tools.items():
                    contract_of(name, tool.metadata)
                    if "user_id" in tool.function_schema.json_schema.get("properties", {}):
                        raise InvalidSettings(f"The tool {name!r} takes a user id: whose data it is, no model says.")
        return self

    async def prepare_tools(self, ctx: Context, tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        calls, effects = ctx.deps.turn.calls, OFFERED[ctx.deps.turn.level]
        if calls.is_exhausted:
            return []
        contracts, withdrawn = contracts_of(tool_defs), calls.withdrawn
        return [each for each in tool_defs if each.name not in withdrawn and contracts[each.name].effect in effects]

    async def after_model_request(
        self, ctx: Context, *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        if (response.provider_details or {}).get(HAS_MARKUP) and not response.tool_calls:
            raise ModelRetry(NOBODY_READ)
        deps, offered = ctx.deps, request_context.model_request_parameters.function_tools
        none_left = bool(response.tool_calls) and deps.turn.calls.is_exhausted
        contracts = contracts_of(offered)
        parts = [_well_formed(part) for part in response.parts]
        calls = [(place, part) for place, part in enumerate(parts) if isinstance(part, ToolCallPart)]
        for place, part in calls[:MOST_CALLS_AT_ONCE]:
            parts[place] = _begin(deps, part, contracts, none_left=none_left)
        if none_left and deps.turn.calls.was_warned_of_end:
            raise TooManySteps
        deps.turn.calls.was_warned_of_end = none_left
        if len(calls) > MOST_CALLS_AT_ONCE:
            raise UnexpectedModelBehavior(f"More than {MOST_CALLS_AT_ONCE} tool calls in one answer")
        return replace(response, parts=parts)

    async def wrap_tool_validate(
        self,
        ctx: Context,
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: str | dict[str, Any],
        handler: WrapToolValidateHandler,
    ) -> dict[str, Any]:
        deps = ctx.deps
        made = deps.turn.calls.made[call.tool_call_id]
        if made.problem:
            raise ToolFailed(made.message_for_model)
        try:
            arguments = await handler(args)
        except (ValidationError, ModelRetry) as error:
            raise ToolFailed(await _failed(ctx, made, None, arguments_problem(error))) from None
        if problem := _refused(deps, contract_of(tool_def.name, tool_def.metadata)) or deps.turn.calls.admit(
            made, arguments
        ):
            raise ToolFailed(deps.turn.calls.record_refusal(made, problem, deps.turn.clock()))
        return arguments

    async def wrap_tool_execute(
        self,
        ctx: Context,
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        deps, made = ctx.deps, ctx.deps.turn.calls.made[call.tool_call_id]
        contract = contract_of(tool_def.name, tool_def.metadata)
        limit = asyncio.timeout(contract.timeout)
        try:
            async with limit:
                result = await handler(args)
                if contract.effect in GATED or isinstance(result, Proposal):
                    result = await _handed_in(ctx, call.tool_call_id, result, contract)
                result = visible_data(to_jsonable_python(result, fallback=str))
                made.saw = frozenset(ids_in(result))
                result = _cut(result, contract)
        except asyncio.CancelledError:
            deps.turn.calls.record_cancellation(made, deps.turn.clock())
            raise
        except CallDeferred:
            raise
        except Exception as raised:
            error = error_of_tool(raised)
            failure = failure_of(error)
            if isinstance(failure, DataGone | Braked):
                raise
            if not isinstance(error, ToolFailed | ModelRetry):
                deps.turn.logger.warning(Event.TOOL_FAILED, extra={"tool": call.tool_name, **cause_of(error)})
            known = contract.effect != "read" and isinstance(error, Invalid | NotFound | ToolFailed | ModelRetry)
            problem = tool_problem(error, failure, contract, limit.expired())
            raise ToolFailed(await _failed(ctx, made, None if known else args, problem)) from error
        if made.outcome == "running":
            deps.turn.calls.record_success(made, args, result, deps.turn.clock())
        return result


def _well_formed(part: ModelResponsePart) -> ModelResponsePart:
    return replace(part, content=well_formed(part.content)) if isinstance(part, TextPart | ThinkingPart) else part


def _begin(deps: AgentDeps, part: ToolCallPart, contracts: Mapping[str, Contract], *, none_left: bool) -> ToolCallPart:
    """Record the call. Return it with a valid name, id and arguments, because a model may write anything."""
    name = valid_tool_name(part.tool_name)
    call_id = unique_call_id(part.tool_call_id, deps.turn.calls.made, len(deps.turn.calls.made) + 1)
    arguments = well_formed(part.args) if isinstance(part.args, str) else to_json(part.args or {}).decode()
    too_long = len(arguments) > LONGEST_ARGUMENTS
    call = deps.turn.calls.begin(call_id, name, contracts.get(name), arguments, deps.turn.clock())
    if none_left:
        deps.turn.calls.record_refusal(call, NONE_LEFT, deps.turn.clock())
    elif name not in contracts:
        problem = "It is withdrawn for this request." if name in deps.turn.calls.withdrawn else "There is no such tool."
        deps.turn.calls.record_refusal(call, problem, deps.turn.clock())
    elif too_long:
        problem = f"The arguments are longer than {LONGEST_ARGUMENTS:,} characters. They were not kept."
        deps.turn.calls.record_refusal(call, problem, deps.turn.clock())
    return replace(part, tool_name=name, tool_call_id=call_id, args="{}" if too_long else arguments)


def _refused(deps: AgentDeps, contract: Contract) -> str | None:
    return None if contract.effect in OFFERED[deps.turn.level] else gate(contract.effect, deps.turn.level).reason


async def _handed_in(ctx: Context, call_id: str, proposal: Any, contract: Contract) -> dict[str, Any]:
    """Submit the proposal and return its outcome for the model. A call that waits for the user ends the run."""
    deps, made = ctx.deps, ctx.deps.turn.calls.made[call_id]
    if not isinstance(proposal, Proposal) or proposal.action.effect != contract.effect:
        raise InvalidSettings(f"The tool {made.tool!r} proposes nothing that its effect allows.")
    decision, approval = await deps.feature(Proposer).submit(proposal, call_id)
    if approval is None:
        raise ToolFailed(decision.reason)
    if approval.answer == "run":
        await ctx.emit(ApprovalDecided(approval=approval_view(approval), call_id=None, said_yes=True))
        return {"status": approval.status, "outcome": approval.outcome, **approval.result}
    words = pending_line(approval)
    deps.turn.calls.record_waiting(made, words, deps.turn.clock())
    await ctx.emit(
        ApprovalRequested(approval=approval_view(approval), call_id=call_id, ends_the_turn=approval.answer == "ask")
    )
    if approval.answer == "ask":
        raise CallDeferred(metadata={"approval_id": approval.id})
    return {"status": "waiting", "approval_id": approval.id, "note": words}


async def _failed(ctx: Context, call: Call, arguments: dict[str, Any] | None, problem: str) -> str:
    """Record the failure and return it for the model. Notify the user if the tool is withdrawn."""
    problem = ctx.deps.turn.calls.record_failure(call, arguments, problem, ctx.deps.turn.clock())
    if ctx.deps.turn.calls.was_just_withdrawn(call.tool):
        await ctx.emit(Progress(label=f"Not available for this answer: {call.label.removesuffix('…')}"))
    return problem


def _cut(result: Any, contract: Contract) -> Any:
    """Truncate a long result to the beginning of its JSON, with a note on its length."""
    text = to_json(result).decode()
    if len(text) <= contract.result_characters:
        return result
    return {
        "beginning": text[: contract.result_characters],
        "note": f"Too long: these are the first {contract.result_characters:,} of {len(text):,} characters. "
        "Ask for something narrower to see what is missing.",
    }


class MeasuredWaits(AbstractCapability[AgentDeps]):
    """Measure how long the run waits for models; the rest of the time to the first text is our own."""

    async def before_model_request(self, ctx: Context, request_context: ModelRequestContext) -> ModelRequestContext:
        ctx.deps.turn.calls.waits.begin(ctx.deps.turn.clock())
        return request_context

    async def after_model_request(
        self,
        ctx: Context,
        *,
        request_context: ModelRequestContext,  # noqa: ARG002
        response: ModelResponse,
    ) -> ModelResponse:
        ctx.deps.turn.calls.waits.end(ctx.deps.turn.clock())
        return response


class FencedData(AbstractCapability[AgentDeps]):
    """Fence tool results only in requests to the model. Stored messages and clients get the plain data."""

    async def before_model_request(self, ctx: Context, request_context: ModelRequestContext) -> ModelRequestContext:  # noqa: ARG002
        messages = list(request_context.messages)
        for place, message in enumerate(messages):
            if isinstance(message, ModelRequest):
                parts = list(message.parts)
                for at, part in enumerate(parts):
                    if isinstance(part, ToolReturnPart) and part.outcome == "success":
                        parts[at] = _fenced(part)
                messages[place] = replace(message, parts=parts)
        request_context.messages = messages
        return request_context


def _fenced(part: ToolReturnPart) -> ToolReturnPart:
    return replace(part, content=wrap("tool_result", quoted(part.model_response_str()), tool=part.tool_name))
