"""The loop: ask the model, say what it says, run what it calls, until it calls nothing."""

from collections.abc import Iterator
from typing import Any

from openai import APIStatusError, AsyncOpenAI
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    FinishReason,
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.usage import RequestUsage

from plain_openai.own_loop import LoopRun
from qwestly_agent.agents.design import DesignEvent

_REASONS: dict[str, FinishReason] = {"length": "length", "content_filter": "content_filter"}


async def chat(run: LoopRun, *, client: AsyncOpenAI, model: str, temperature: float) -> None:
    requests = 0
    while request := await run.next_request():
        requests += 1
        try:
            response = await _ask(run, request, client, model, temperature)
        except APIStatusError as error:
            raise ModelHTTPError(error.status_code, model, error.body) from error
        await run.answer(response)
    await run.emit(DesignEvent(kind="requests_made", values={"requests": requests}))


async def _ask(
    run: LoopRun, request: ModelRequestContext, client: AsyncOpenAI, model: str, temperature: float
) -> ModelResponse:
    tools = request.model_request_parameters.function_tools
    more: dict[str, Any] = {"tools": [_tool(each) for each in tools]} if tools else {}
    stream = await client.chat.completions.create(
        model=model,
        messages=list(_messages(request)),
        temperature=temperature,
        stream=True,
        stream_options={"include_usage": True},
        **more,
    )
    text, calls, usage, served_by, reason = "", dict[int, ToolCallPart](), RequestUsage(), model, None
    async for chunk in stream:
        served_by = chunk.model or served_by
        if chunk.usage:
            details = chunk.usage.prompt_tokens_details
            usage = RequestUsage(
                input_tokens=chunk.usage.prompt_tokens,
                cache_read_tokens=(details and details.cached_tokens) or 0,
                output_tokens=chunk.usage.completion_tokens,
            )
        for choice in chunk.choices:
            reason = choice.finish_reason or reason
            if choice.delta.content:
                text += choice.delta.content
                run.say(choice.delta.content)
            for delta in choice.delta.tool_calls or ():
                call = calls.setdefault(delta.index, ToolCallPart("", "", tool_call_id=""))
                call.tool_call_id = delta.id or call.tool_call_id
                if delta.function:
                    call.tool_name += delta.function.name or ""
                    call.args = f"{call.args}{delta.function.arguments or ''}"
    said: list[ModelResponsePart] = [TextPart(text)] if text else []
    return ModelResponse(
        parts=[*said, *calls.values()],
        usage=usage,
        model_name=served_by,
        provider_name=request.model.system,
        finish_reason="tool_call" if calls else _REASONS.get(reason or "", "stop"),
    )


def _messages(request: ModelRequestContext) -> Iterator[Any]:
    parts = request.model_request_parameters.instruction_parts or []
    yield {"role": "system", "content": "\n\n".join(part.content for part in parts)}
    for message in request.messages:
        yield from _answer(message) if isinstance(message, ModelResponse) else _said(message)


def _said(message: ModelMessage) -> Iterator[Any]:
    for part in message.parts:
        match part:
            case UserPromptPart(content=str(text)):
                yield {"role": "user", "content": text}
            case ToolReturnPart():
                yield {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
            case RetryPromptPart(tool_name=str()):
                yield {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response()}
            case _:
                pass


def _answer(message: ModelResponse) -> Iterator[Any]:
    calls = [
        {
            "id": call.tool_call_id,
            "type": "function",
            "function": {"name": call.tool_name, "arguments": call.args_as_json_str()},
        }
        for call in message.tool_calls
    ]
    if message.text or calls:
        yield {"role": "assistant", "content": message.text, **({"tool_calls": calls} if calls else {})}


def _tool(tool: Any) -> dict[str, Any]:
    about = {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}
    return {"type": "function", "function": about}
