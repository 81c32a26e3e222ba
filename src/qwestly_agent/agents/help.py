"""Answer people in acute trouble, and abuse, in fixed words: no tool is called, and no further model request is made.

Code detects trouble in typed text. A model can report what the code misses with `report_trouble`.
"""

from collections.abc import Mapping
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapToolValidateHandler
from pydantic_ai.exceptions import SkipModelRequest, ToolFailed
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.help_words import DEFAULT_LANGUAGE, words_for
from qwestly_agent.agents.tools.trouble import REPORT_TROUBLE
from qwestly_agent.text.trouble import Kind, Trouble
from qwestly_agent.text.user_text import trouble_in

FIXED_WORDS = "fixed-words"
"""Stored instead of a model's name for an answer in fixed words."""

_KINDS: Mapping[str, Kind] = {"self_harm": "self_harm", "violence": "violence", "abuse": "abuse"}


class HelpInTrouble(AbstractCapability[AgentDeps]):
    async def before_run(self, ctx: RunContext[AgentDeps]) -> None:
        ctx.deps.calls.trouble = ctx.deps.calls.trouble or trouble_in(ctx.deps.user_messages[-1])

    async def before_model_request(
        self, ctx: RunContext[AgentDeps], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        if trouble := ctx.deps.calls.trouble:
            raise SkipModelRequest(ModelResponse(parts=[TextPart(words_for(trouble))], model_name=FIXED_WORDS))
        if words := ctx.deps.calls.fixed_words:
            raise SkipModelRequest(ModelResponse(parts=[TextPart(words)], model_name=FIXED_WORDS))
        return request_context

    async def after_model_request(
        self,
        ctx: RunContext[AgentDeps],
        *,
        request_context: ModelRequestContext,  # noqa: ARG002
        response: ModelResponse,
    ) -> ModelResponse:
        reports = [call for call in response.tool_calls if call.tool_name == REPORT_TROUBLE.name]
        if reports:
            ctx.deps.calls.trouble = _reported(reports[0])
        return response

    async def wrap_tool_validate(
        self,
        ctx: RunContext[AgentDeps],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: str | dict[str, Any],
        handler: WrapToolValidateHandler,
    ) -> dict[str, Any]:
        """Refuse the other calls that a model makes together with its report."""
        deps = ctx.deps
        if deps.calls.trouble and tool_def.name != REPORT_TROUBLE.name:
            made, problem = deps.calls.made[call.tool_call_id], "Nothing is looked up or proposed now."
            raise ToolFailed(made.problem or deps.calls.record_refusal(made, problem, deps.clock()))
        return await handler(args)


def _reported(call: ToolCallPart) -> Trouble:
    """Read the model's report. Assume the worst kind if its arguments are not valid."""
    try:
        arguments = call.args_as_dict()
    except ValueError:
        arguments = {}
    language = str(arguments.get("language", DEFAULT_LANGUAGE))[:2].lower()
    return Trouble(_KINDS.get(str(arguments.get("kind")), "self_harm"), language)
