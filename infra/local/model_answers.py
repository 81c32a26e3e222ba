"""Default answers of the scripted model if the test scripted none: a pure function of the request.

The intents (`intents.py`) decide text and calls of a chat, and `model_functions.py` answers typed requests. This module
parses the request for them, and answers if neither does: from tool results, or with the smallest value that the schema
accepts.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NotRequired, TypeAlias

from typing_extensions import TypedDict  # pydantic requires this one before Python 3.12

from infra.local.intents import Chat, Intents, Json, fill_first, json_in, object_in, typed_and_context
from infra.local.model_functions import FUNCTIONS
from infra.local.model_interview import lead_interview
from infra.local.model_schema import instance

Message: TypeAlias = Mapping[str, Json]
Tool: TypeAlias = Mapping[str, Json]


class ToolCall(TypedDict):
    """`arguments` is an object, or a string that is sent as it is, valid or not."""

    name: str
    arguments: dict[str, Json] | str
    id: NotRequired[str]


@dataclass(frozen=True)
class Thought:
    text: str = ""
    tool_calls: Sequence[ToolCall] = ()


ORCHESTRATOR = "You lead an interview"
"""The beginning of the instructions of the request that the intents help to answer."""
NOBODY_YET = (
    "I don't know anything about you yet. Tell me what you do and what you are looking for, for example: “I lead a "
    "team of five, and I want to work on climate.” I remember what you tell me, and you can see, correct or delete "
    "all of it at any time."
)


def think(body: Mapping[str, Json], intents: Intents) -> Thought:
    """Return the answer to a chat completion request: tool calls, text, or a value of the output schema."""
    messages = [message for message in body["messages"] if message.get("role") not in ("system", "developer")]
    said = [_text(message) for message in messages if message.get("role") == "user"] or [""]
    answered = [text for message in messages if message.get("role") == "assistant" and (text := _text(message))]
    words, _ = typed_and_context(said[-1])
    instructions, tools, results = _instructions(body), _offered(body), list(_results(messages))
    output, schema = _output_tool(body, tools), _output_schema(body)
    after = ""
    if schema is None and not (tools and all(name.startswith("final_result") for name in tools)):
        played = intents.play(Chat(instructions, said, tools, results, answered))
        if played and (played.calls or (played.text and not output)):
            calls = [_call(tools[name], words, arguments) for name, arguments in played.calls]
            return Thought(played.text, calls)
        after = played.after if played else ""
    if output or schema:
        function = next((each for begins, each in FUNCTIONS.items() if instructions.startswith(begins)), None)
        texts = [said[0], *map(_text, messages[1:])]
        given = function(texts) if function else None
        if instructions.startswith(ORCHESTRATOR):
            given = lead_interview(texts, intents.meant_by_an_interviewee)
        if output:
            return Thought(tool_calls=[_call(output, words, given)])
        return Thought(json.dumps(instance(schema, words) if given is None else given, ensure_ascii=False))
    return Thought(f"{_answer_from(results, intents)}{after}")


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
    """Yield tool name and content of each result since the user's last message."""
    spoken = max((i for i, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    for message in messages[spoken + 1 :]:
        if message.get("role") == "tool":
            yield names.get(message.get("tool_call_id", ""), "that tool"), _text(message)


def _offered(body: Mapping[str, Json]) -> dict[str, Tool]:
    """Return the functions that can be called, by name: all tools, or those that `tool_choice` allows."""
    tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or ()}
    match body.get("tool_choice"):
        case "none":
            return {}
        case {"function": {"name": name}}:
            return {name: tools[name]} if name in tools else {}
        case _:
            return tools


def _output_tool(body: Mapping[str, Json], tools: Mapping[str, Tool]) -> Tool | None:
    """Return the tool that takes the final answer. pydantic-ai names it `final_result…` or marks it in its description,
    and does not force it on a thinking model. Without such a tool, a forced call means the last tool."""
    for name, tool in tools.items():
        if name.startswith("final_result") or "ends this conversation" in (tool.get("description") or ""):
            return tool
    return list(tools.values())[-1] if tools and body.get("tool_choice") not in (None, "auto", "none") else None


def _output_schema(body: Mapping[str, Json]) -> Json | None:
    match body.get("response_format"):
        case {"type": "json_schema", "json_schema": {"schema": schema}}:
            return schema
        case {"type": "json_object"}:
            # The schema is then in the text of the instructions.
            schemas = [v for v in json_in(_instructions(body)) if isinstance(v, dict) and "properties" in v]
            return schemas[-1] if schemas else {"type": "object"}
        case _:
            return None


# --- an answer from the results of tools ------------------------------------------------------------------------------

MOST_FACTS, FACTS_BESIDE_OTHERS = 8, 5
FACT_CHARACTERS = 240
TEXT_KEYS = ("content", "text", "excerpt", "snippet", "passage", "description", "what", "answer")
UNSAID_KEYS = frozenset(
    re.findall(
        r"\w+",
        "id _id type kind trust confidence score url path status note message hint quote valid_from created_at "
        "start_date end_date is_current found count total",
    )
)
UNLABELLED_KEYS = frozenset(["name", "headline", "summary", "about"])
RETRY = "Fix the errors and try again."
"""The end of pydantic-ai's message after a failed call."""
FAILED = re.compile(r"\W*(error|failed|could not|cannot|unavailable)\b", re.I)
NOTHING = re.compile(r"\W*(no|none|nothing|not found|empty)\b", re.I)


def _answer_from(results: Sequence[tuple[str, str]], intents: Intents) -> str:
    """Describe the results by the names of their tools."""
    told: list[str] = []
    found: dict[str, list[str]] = {}
    missing: list[str] = []
    failed: list[str] = []
    for tool, result in results:
        source = _source_of(tool, intents)
        if answer := _told_of(tool, result, intents):
            told += [] if answer in told else [answer]
        elif _is_failure(result):
            failed.append(source)
        elif parts := _parts_of(tool, result, intents):
            for name, part in parts.items():
                found[name] = [*found.get(name, ()), *_facts_in(json.dumps(part))]
        elif facts := _facts_in(result):
            found[source] = [*found.get(source, ()), *facts]
        else:
            missing.append(source)
    most = MOST_FACTS if len(found) == 1 else FACTS_BESIDE_OTHERS
    told += [_section(source, facts, most) for source, facts in found.items()]
    if missing and not found and not failed and "get_user_profile" in [tool for tool, _ in results]:
        told.append(NOBODY_YET)
    elif missing:
        told.append(f"I found nothing about that in {_listed(missing, 'or')}.")
    if failed:
        told.append(f"I could not look at {_listed(failed, 'and')} just now.")
    return "\n\n".join(told)


def _source_of(tool: str, intents: Intents) -> str:
    source = intents.results.get(tool)
    return source if isinstance(source, str) else tool.replace("_", " ")


def _told_of(tool: str, result: str, intents: Intents) -> str | None:
    """Return the answer for this tool's result from `results`; None if there is none."""
    answers = intents.results.get(tool)
    return fill_first(answers, object_in(result)) if isinstance(answers, list) else None


def _parts_of(tool: str, result: str, intents: Intents) -> dict[str, Json]:
    """Return the parts of a result that have sources of their own (`TOOL.path`), by source, without empty ones."""
    found = object_in(result)
    sources = {name: intents.results.get(f"{tool}.{name}") for name in found}
    return {source: found[name] for name, source in sources.items() if isinstance(source, str) and found[name]}


def _section(source: str, facts: Sequence[str], most: int) -> str:
    """Return Markdown: a heading with the source, and a line per fact."""
    lines = [f"**{source[:1].upper()}{source[1:]}**", "", *(f"- {fact}" for fact in facts[:most])]
    left = len(facts) - most
    return "\n".join([*lines, *([f"- … and {left} more: ask me about any of it."] if left > 0 else [])])


def _is_failure(result: str) -> bool:
    if result.rstrip().endswith(RETRY):
        return True
    if values := json_in(result):
        return isinstance(values[0], dict) and "error" in values[0]
    return FAILED.match(_without_fences(result)) is not None


def _facts_in(result: str) -> list[str]:
    values = json_in(result)
    if values:
        facts = [fact for value in values for fact in _facts(value)]
    else:
        text = _without_fences(result)
        facts = [] if NOTHING.match(text) else _sentences(text)[:3]
    return list(dict.fromkeys(_short(fact) for fact in facts if fact.strip()))


def _facts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _facts(item)
    elif isinstance(value, dict):
        yield from _facts_of_object(value)


def _facts_of_object(value: Mapping[str, Json]) -> Iterator[str]:
    if value.get("kind") == "message":  # what was just said is not a fact
        return
    if "company" in value and "title" in value:
        start = value.get("start_date") or value.get("start")
        since = f", since {start}" if start and (value.get("is_current") or value.get("end") == "present") else ""
        yield f"{value['title']} at {value['company']}{since}"
        return
    if "degree" in value:
        yield ", ".join(str(value[key]) for key in ("degree", "school", "year") if value.get(key))
        return
    if value.get("before") and isinstance(value.get("content"), str):
        since = f" Since {value['since']}." if value.get("since") else ""
        yield f"{value['content']}{since}" + "".join(f" Before that: “{each['content']}”" for each in value["before"])
        return
    for key in TEXT_KEYS:
        if isinstance(value.get(key), str):
            title = value.get("title") or value.get("label")
            yield f"{title}: “{_short(value[key], FACT_CHARACTERS - len(title) - 4)}”" if title else value[key]
            return
    if isinstance(value.get("name"), str):
        rest = [value[key] for key in ("headline", "location") if isinstance(value.get(key), str)]
        yield f"**{value['name']}**" + "".join(f", {each}" for each in rest)
        value = {key: item for key, item in value.items() if key not in ("name", "headline", "location")}
    for key, item in sorted(value.items(), key=lambda each: each[0] not in ("employment", "positions")):
        if key in UNSAID_KEYS or isinstance(item, bool) or item is None:
            continue
        if isinstance(item, dict) or (isinstance(item, list) and not all(isinstance(leaf, str) for leaf in item)):
            yield from _facts(item)
        elif item:
            said = ", ".join(item) if isinstance(item, list) else str(item)
            yield said if key in UNLABELLED_KEYS else f"{key.replace('_', ' ').capitalize()}: {said}"


def _without_fences(text: str) -> str:
    return re.sub(r"</?[\w:-]+[^<>]*>", " ", text).strip()


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in re.split(r"(?<=[.!?])\s+|\n+", text.strip()) if sentence.strip()]


def _short(fact: str, most: int = FACT_CHARACTERS) -> str:
    """Return the leading sentences that fit."""
    fact = " ".join(fact.split())
    if len(fact) > most:
        cut = fact[: max(40, most)]
        ends = [match.end() for match in re.finditer(r"[.!?](?=\s)", cut)]
        fact = cut[: ends[-1]] if ends else cut.rsplit(" ", 1)[0] + "…"
    return fact


def _listed(items: Sequence[str], conjunction: str) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {conjunction} {items[-1]}"
