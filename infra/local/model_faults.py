"""Faults of the scripted model server."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass
from starlette.responses import Response

from infra.local import model_wire as wire
from infra.local.model_answers import ToolCall
from infra.local.model_connection import Act, Step
from infra.local.model_wire import Answer, Json

FaultStatus: TypeAlias = Literal[400, 401, 402, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504]
Fault: TypeAlias = (
    FaultStatus
    | Literal["content_risk", "refuse_body", "html", "bad_json", "slow", "reset"]
    | Literal["cut", "cut_mid_line", "half_utf8", "no_finish", "reset_midway", "stall", "error_in_stream"]
    | Literal["bad_json_line", "other_shape", "empty_choices", "huge_line", "other_lines"]
    | Literal["no_done", "length", "content_filter", "swapped_indices", "bad_tool_arguments", "unknown_tool"]
)
"""The fault of a reply.

Instead of an answer: an error status; `content_risk` (DeepSeek's 400 for rejected content); `refuse_body` (200 and an
empty body), `html` (200 and a page), `bad_json` (200 and half an object); `slow` (no byte until released); `reset` (TCP
reset).

After `fault_after` chunks of the content (if the answer is not streamed: after half of the body): `cut` (the connection
closes), `cut_mid_line`, `reset_midway` (TCP reset), `half_utf8` and `no_finish` (the response ends, complete as HTTP,
within a character or before the finish reason), `stall` (waits until released, then closes), `error_in_stream` (ends
with an error object); `bad_json_line`, `other_shape` (JSON that is no object), `empty_choices` and `huge_line` (one
line of 10 MB) are inserted between the chunks. Valid but rare: `other_lines` adds every kind of line that server-sent
events allow besides data around each event.

In the content: `no_done`; `length` and `content_filter` (stops there with this finish reason); `swapped_indices` (the
deltas of later tool calls come first), `bad_tool_arguments` (not JSON), `unknown_tool` (one that was not offered).
"""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Reply:
    """The answer to one chat request. Without text and tool calls, the scripts decide."""

    text: str | list[str] | None = None
    """A list is sent in exactly these chunks."""
    tool_calls: Sequence[ToolCall] = ()
    """Calls sent after the text, in the same answer."""
    deltas: Sequence[Mapping[str, Json]] = ()
    """Streamed unchanged, instead of text and tool calls."""
    chunk_delay: float | None = None
    """Seconds before each chunk but the first; None for the server's default."""
    hold_after: int | None = None
    """Number of content chunks after which the answer waits until released; 0 is before the first byte of the body."""
    finish_reason: str | None = None
    usage: Mapping[str, Json] | None = None
    """Fields that override the computed usage."""
    fault: Fault | None = None
    fault_after: int = 1
    retry_after: float | None = None
    """`Retry-After` in seconds, sent with an error status."""
    streams: bool | None = None
    """True to match only streaming requests (chats), False only others (such as judges)."""
    to: str = ""
    """Match only requests whose instructions begin with this text."""


HUGE_LINE_BYTES = 10_000_000
OTHER_LINES = b"retry: 3000\n\n: still here\n\nid: 7\n\nevent: ping\n\ndata:\n\n\nid: 8\nevent: completion\n"
"""Events without data, and the other lines that may precede one."""
INSTEAD: Mapping[Fault | None, Sequence[Step]] = {
    "refuse_body": [Act.START],
    "html": [Act.START, b"<!doctype html><title>Bad gateway</title><h1>Please try again later</h1>"],
    "bad_json": [Act.START, b'{"id": "chatcmpl-0", "choices": ['],
    "reset": [Act.RESET],
}

Group: TypeAlias = Sequence[Step]


# --- what is said -----------------------------------------------------------------------------------------------------


def with_content_faults(
    reply: Reply, chunks: list[str], calls: list[ToolCall], body: Json
) -> tuple[list[str], list[ToolCall], str]:
    """Return chunks, calls and finish reason, with content faults applied."""
    match reply.fault:
        case "length" | "content_filter":
            return chunks[: reply.fault_after], [], reply.fault
        case "unknown_tool":
            calls = [{"name": "no_such_tool", "arguments": {}}]
        case "bad_tool_arguments":
            offered = [tool["function"]["name"] for tool in body.get("tools") or ()]
            names = [call["name"] for call in calls] or offered[:1]
            calls = [{"name": name, "arguments": '{"query": "unclo'} for name in names]
    called = calls or any("tool_calls" in delta for delta in reply.deltas)
    return chunks, calls, reply.finish_reason or ("tool_calls" if called else "stop")


# --- how it goes over the wire ----------------------------------------------------------------------------------------


def refusal(reply: Reply) -> Response | None:
    """Return the error response that replaces the answer, or None."""
    if reply.fault == "content_risk":
        return wire.error_response(400, "Content Exists Risk", code="invalid_request_error")
    if isinstance(reply.fault, int):
        return wire.error_response(reply.fault, f"The scripted fault {reply.fault}.", retry_after=reply.retry_after)
    return None


def steps(reply: Reply, body: Json, answer: Callable[[], Answer]) -> Sequence[Step]:
    if reply.fault in INSTEAD:
        return INSTEAD[reply.fault]
    include_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    played = _streamed(reply, answer(), include_usage) if body.get("stream") else _whole(reply, answer())
    return [*([Act.HOLD] if reply.fault == "slow" else []), Act.START, *played]


def content_type(reply: Reply, streams: bool) -> str:
    if reply.fault == "html":
        return "text/html; charset=utf-8"
    return "text/event-stream; charset=utf-8" if streams and reply.fault != "bad_json" else "application/json"


def _streamed(reply: Reply, answer: Answer, include_usage: bool) -> list[Step]:
    opening = wire.chunk(answer, {"role": "assistant", "content": ""})
    lines = [wire.chunk(answer, delta) for delta in reply.deltas]
    lines = lines or wire.content(answer, swapped=reply.fault == "swapped_indices")
    content: list[Group] = [[Act.PAUSE, line] if i else [line] for i, line in enumerate(lines)]
    closing = wire.closing(answer, include_usage, done=reply.fault != "no_done")
    at = min(reply.fault_after, len(content))
    before, after = content[:at], [*content[at:], closing]
    next_line = next(step for step in after[0] if isinstance(step, bytes))
    match reply.fault:
        case "cut":
            after = [[Act.HANG_UP]]
        case "cut_mid_line":
            after = [[next_line[: len(next_line) // 2], Act.HANG_UP]]
        case "half_utf8":
            after = [[wire.chunk(answer, {"content": "caf"}).partition(b'caf"')[0] + "café".encode()[:-1]]]
        case "no_finish":
            after = [[b""]]
        case "reset_midway":
            after = [[Act.RESET]]
        case "stall":
            after = [[Act.HOLD, Act.HANG_UP]]
        case "error_in_stream":
            after = [[wire.line(wire.error(500, "The model failed in the middle of its answer."))]]
        case "bad_json_line":
            after = [[b'data: {"choices": [{"index": 0, "delta"\n\n'], *after]
        case "other_shape":
            after = [[wire.line(42)], *after]
        case "empty_choices":
            after = [[wire.chunk_of(answer, [])], *after]
        case "huge_line":
            after = [[wire.chunk(answer, {"content": "x" * HUGE_LINE_BYTES})], *after]
    played = _held([opening], [*before, *after], reply.hold_after)
    if reply.fault == "other_lines":
        return [OTHER_LINES + step if isinstance(step, bytes) else step for step in played]
    return played


def _whole(reply: Reply, answer: Answer) -> list[Step]:
    body = wire.compact(_told(reply, wire.whole(answer))).encode(errors="backslashreplace")
    half, rest = body[: len(body) // 2], body[len(body) // 2 :]
    ends: Mapping[Fault | None, Group] = {
        "cut": [Act.HANG_UP],
        "cut_mid_line": [Act.HANG_UP],
        "reset_midway": [Act.RESET],
        "half_utf8": ["é".encode()[:-1]],
        "stall": [Act.HOLD, Act.HANG_UP],
        "bad_json_line": [],
    }
    return _held([], [[half], ends.get(reply.fault, [rest])], reply.hold_after)


def _told(reply: Reply, answer: dict[str, Json]) -> Json:
    """Return a non-streamed answer with its fault applied."""
    [choice] = answer["choices"]
    message = choice["message"]
    match reply.fault:
        case "error_in_stream":
            return wire.error(500, "The model failed.")
        case "other_shape":
            return 42
        case "empty_choices":
            return {**answer, "choices": []}
        case "no_finish":
            choice["finish_reason"] = None
        case "huge_line":
            message["content"] = (message["content"] or "") + "x" * HUGE_LINE_BYTES
        case "swapped_indices" if "tool_calls" in message:
            message["tool_calls"].reverse()
    return answer


def _held(opening: Sequence[Step], content: Sequence[Group], hold_after: int | None) -> list[Step]:
    """Flatten the steps, inserting the hold after so many groups of content."""
    groups = [list(group) for group in content]
    if hold_after:
        groups[min(hold_after, len(groups) - 1) - 1].append(Act.HOLD)
    start: list[Step] = [Act.HOLD] if hold_after == 0 else []
    return [*start, *opening, *(step for group in groups for step in group)]
