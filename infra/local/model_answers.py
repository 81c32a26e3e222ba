"""What the scripted model answers when no test scripted it: a function of the request alone, without chance or clock.

The scripts (`scripts/`, as `script.py` plays them) say what it says and calls. What is here reads the request for
them, and answers where they say nothing: from the results of tools, or with the smallest value that is asked for.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypeAlias

from typing_extensions import TypedDict  # the only one that pydantic reads before Python 3.12

from infra.local import script
from infra.local.model_results import answer_from, json_in
from infra.local.model_schema import instance
from infra.local.script import Chat, Script

Json: TypeAlias = Any
Message: TypeAlias = Mapping[str, Json]
Tool: TypeAlias = Mapping[str, Json]


class ToolCall(TypedDict):
    """`arguments` is an object, or a string that goes out as it is, valid or not."""

    name: str
    arguments: dict[str, Json] | str
    id: NotRequired[str]


@dataclass(frozen=True)
class Thought:
    text: str = ""
    tool_calls: Sequence[ToolCall] = ()


NOT_SURE = (
    "I can help with your career: ask me what we know about you, about your goals or documents, or how Qwestly works."
)
DECISIONS = re.compile(r"<approval_news>.*?</approval_news>\s*", re.DOTALL)


def think(body: Mapping[str, Json], scripts: Script) -> Thought:
    """The answer to a chat completion request: tool calls, words, or what its schema wants."""
    messages = [message for message in body["messages"] if message.get("role") not in ("system", "developer")]
    said = [_text(message) for message in messages if message.get("role") == "user"] or [""]
    words = DECISIONS.sub("", said[-1]).strip() or said[-1]
    instructions, tools, results = _instructions(body), _offered(body), list(_results(messages))
    output, schema = _output_tool(body, tools), _output_schema(body)
    if schema is None and not (tools and all(name.startswith("final_result") for name in tools)):
        played = script.play(scripts, Chat(instructions, [*said[:-1], words], tools, results))
        if played and (played.calls or not output):
            calls = [_call(tools[name], words, arguments) for name, arguments in played.calls]
            return Thought(played.text, calls)
    if output or schema:
        given = script.give(scripts, instructions, [said[0], *map(_text, messages[1:])])
        if output:
            return Thought(tool_calls=[_call(output, words, given)])
        return Thought(json.dumps(instance(schema, words) if given is None else given, ensure_ascii=False))
    return Thought(answer_from(results, scripts) if results else NOT_SURE)


def _call(tool: Tool, words: str, arguments: dict[str, Json] | None) -> ToolCall:
    schema = tool.get("parameters") or {"type": "object"}
    return {"name": tool["name"], "arguments": instance(schema, words) if arguments is None else arguments}


def _text(message: Message) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


def _instructions(body: Mapping[str, Json]) -> str:
    return "\n".join(_text(m) for m in body["messages"] if m.get("role") in ("system", "developer"))


def _results(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Tool name and content of each result since the user last spoke."""
    spoken = max((i for i, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    for message in messages[spoken + 1 :]:
        if message.get("role") == "tool":
            yield names.get(message.get("tool_call_id", ""), "that tool"), _text(message)


def _offered(body: Mapping[str, Json]) -> dict[str, Tool]:
    """The functions that may be called, by name: all tools, or those that `tool_choice` leaves."""
    tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or ()}
    match body.get("tool_choice"):
        case "none":
            return {}
        case {"function": {"name": name}}:
            return {name: tools[name]} if name in tools else {}
        case _:
            return tools


def _output_tool(body: Mapping[str, Json], tools: Mapping[str, Tool]) -> Tool | None:
    """The tool that takes the final answer. pydantic-ai names it `final_result…` or says so in its description, and
    does not force it on a model that thinks. Whoever forces a call without such a tool means the last one offered."""
    for name, tool in tools.items():
        if name.startswith("final_result") or "ends this conversation" in (tool.get("description") or ""):
            return tool
    return list(tools.values())[-1] if tools and body.get("tool_choice") not in (None, "auto", "none") else None


def _output_schema(body: Mapping[str, Json]) -> Json | None:
    match body.get("response_format"):
        case {"type": "json_schema", "json_schema": {"schema": schema}}:
            return schema
        case {"type": "json_object"}:
            # The schema is then part of the instructions, in words.
            schemas = [v for v in json_in(_instructions(body)) if isinstance(v, dict) and "properties" in v]
            return schemas[-1] if schemas else {"type": "object"}
        case _:
            return None
