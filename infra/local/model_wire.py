"""OpenAI's protocol as the scripted model server implements it: whole and streamed answers, usage, errors, and the
providers' rejections."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

Json: TypeAlias = Any

WORDS_A_CHUNK = 3
ARGUMENT_CHARACTERS_A_CHUNK = 24
CREATED = 1_767_225_600
"""The fixed timestamp of all answers."""


@dataclass(frozen=True)
class Answer:
    """An answer before serialization."""

    id: str
    model: str
    chunks: list[str]
    calls: list[dict[str, Any]]
    finish_reason: str
    usage: dict[str, Json]

    @property
    def header(self) -> dict[str, Json]:
        return {"id": self.id, "created": CREATED, "model": self.model}


def compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def chunks_of(text: str) -> list[str]:
    return re.findall(rf"\s*(?:\S+\s*){{1,{WORDS_A_CHUNK}}}", text)


# --- answers ----------------------------------------------------------------------------------------------------------


def line(data: Json) -> bytes:
    """Serialize an event. Half of a surrogate pair is escaped in JSON."""
    return b"data: " + compact(data).encode("utf-8", "backslashreplace") + b"\n\n"


def chunk(answer: Answer, delta: Json, finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return chunk_of(answer, [choice])


def chunk_of(answer: Answer, choices: Sequence[Json], **more: Json) -> bytes:
    return line({**answer.header, "object": "chat.completion.chunk", "choices": choices, **more})


def content(answer: Answer, swapped: bool) -> list[bytes]:
    """Return the chunks of the text, then those of each tool call, whose arguments are sent in pieces."""
    lines = [chunk(answer, {"content": text}) for text in answer.chunks]
    calls = list(enumerate(answer.calls))
    for index, call in reversed(calls) if swapped else calls:
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        opening = {"index": index, "id": call["id"], "type": "function", "function": {"name": name, "arguments": ""}}
        lines.append(chunk(answer, {"tool_calls": [opening]}))
        for start in range(0, len(arguments), ARGUMENT_CHARACTERS_A_CHUNK):
            piece = arguments[start : start + ARGUMENT_CHARACTERS_A_CHUNK]
            lines.append(chunk(answer, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    return lines


def closing(answer: Answer, include_usage: bool, done: bool) -> list[bytes]:
    usage = [chunk_of(answer, [], usage=answer.usage)] if include_usage else []
    return [chunk(answer, {}, answer.finish_reason), *usage, *([b"data: [DONE]\n\n"] if done else [])]


def whole(answer: Answer) -> dict[str, Json]:
    calls = {"tool_calls": answer.calls} if answer.calls else {}
    message = {"role": "assistant", "content": "".join(answer.chunks) or None, **calls}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish_reason}
    return {**answer.header, "object": "chat.completion", "choices": [choice], "usage": answer.usage}


class PromptCache:
    """The prefixes of earlier requests, per model and in blocks of 64 tokens, as providers cache them."""

    TOKEN_CHARACTERS = 4
    BLOCK_TOKENS = 64

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def usage(self, body: Json, said: str) -> dict[str, Json]:
        prompt = compact(body.get("tools") or []) + compact(body["messages"])
        prompt_tokens = len(prompt) // self.TOKEN_CHARACTERS
        cached = self._cached_blocks(str(body.get("model")), prompt) * self.BLOCK_TOKENS
        completion_tokens = max(1, len(said) // self.TOKEN_CHARACTERS)
        return {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
            "prompt_tokens_details": {"cached_tokens": cached},
            "prompt_cache_hit_tokens": cached,
            "prompt_cache_miss_tokens": prompt_tokens - cached,
        }

    def _cached_blocks(self, model: str, prompt: str) -> int:
        size = self.TOKEN_CHARACTERS * self.BLOCK_TOKENS
        prefix, blocks = hashlib.blake2b(model.encode(), digest_size=16), []
        for start in range(0, len(prompt) - size + 1, size):
            prefix.update(prompt[start : start + size].encode("utf-8", "surrogatepass"))
            blocks.append(prefix.digest())
        cached = next((i for i, block in enumerate(blocks) if block not in self._seen), len(blocks))
        self._seen.update(blocks)
        return cached


# --- errors, and what the providers refuse ----------------------------------------------------------------------------

ERROR_TYPES = {
    401: ("authentication_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}


def error(status: int, message: str, code: str | None = None) -> dict[str, Json]:
    """Return OpenAI's error object."""
    kind, usual = ERROR_TYPES.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    return {"error": {"message": message, "type": kind, "param": None, "code": code or usual}}


def error_response(
    status: int, message: str, *, code: str | None = None, retry_after: float | None = None
) -> JSONResponse:
    headers = {"retry-after": f"{retry_after:g}"} if retry_after is not None else None
    return JSONResponse(error(status, message, code), status, headers)


async def refused(_: Request, problem: Exception) -> Response:
    return error_response(getattr(problem, "status_code", 400), getattr(problem, "detail", str(problem)))


def unknown_model(name: Json) -> JSONResponse:
    """Return the error of the model's provider: DeepSeek's 400 or OpenAI's 404."""
    if _is_deepseek(name):
        return error_response(400, "Model Not Exist", code="invalid_request_error")
    return error_response(404, f"The model `{name}` does not exist or you do not have access to it.")


def refusal(body: Json) -> str | None:
    """Return the reason why a provider rejects a request to a known model, or None."""
    deepseek = _is_deepseek(body.get("model"))
    if "thinking" in body and not deepseek:
        return "Unrecognized request argument supplied: thinking"
    if deepseek and any(tool["function"].get("strict") for tool in body.get("tools") or ()):
        return "Strict mode is a beta feature: it needs the base URL /beta, and `strict` on all tools"
    choice = body.get("tool_choice")
    if choice in (None, "auto", "none"):
        return None
    if deepseek and body.get("thinking") != {"type": "disabled"}:  # models think unless disabled
        return "Thinking mode does not support this tool_choice"
    offered = {tool["function"]["name"] for tool in body.get("tools") or ()}
    if not offered:
        return "When using `tool_choice`, `tools` must be set."
    match choice:
        case "required":
            return None
        case {"type": "function", "function": {"name": name}} if name in offered:
            return None
        case {"type": "function", "function": {"name": name}}:
            return f"Tool choice '{name}' not found in 'tools' parameter."
        case _:
            return f"Invalid value: {compact(choice)} is no `tool_choice`."


def _is_deepseek(model: Json) -> bool:
    return str(model).startswith("deepseek")
