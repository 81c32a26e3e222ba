"""What the scripted model says when nobody scripted it: a function of the request alone, without chance or clock."""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypeAlias

from typing_extensions import TypedDict  # the only one that pydantic reads before Python 3.12

from infra.local import model_judge, model_wishes, model_writer, script

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


# --- what to do ---------------------------------------------------------------------------------------------------

PROFILE, MEMORIES, KNOWLEDGE = "get_user_profile", "search_user_memories", "query_user_knowledge"
DOCS, CAPABILITIES = "query_qwestly_docs", "list_capabilities"
MAKE_CARD, SUGGEST_ABOUT = "generate_qwestly_card", "suggest_linkedin_about"

SELF_HARM = re.compile(
    r"\b(kill|hurt|harm|cut)(ing)? myself\b|\bsuicid|\bself.?harm|\bend (my life|it all)\b|\bwant to die\b"
    r"|\bdon'?t want to (live|be alive)\b|\bno reason to live\b"
)
ABUSE = re.compile(
    r"\b(fuck|screw) (you|off)\b|\bshut up\b|\byou('re| are)? (an? |so )?(\w+ )?(idiot|moron|stupid|worthless)\b"
    r"|\b(stupid|dumb|useless) (bot|robot|ai|agent|machine|assistant)\b"
)
EARLIER_TURN = re.compile(
    r"\bwhat (did i|have i|was i) (just |last )?(ask|say|said|tell|told|writ)|\bmy (last|previous) (question|message)\b"
)

WRITING = r"\b(draft|write|make|create|generate|suggest)\b"
EXCLUSIVE: Sequence[tuple[re.Pattern[str], tuple[str, ...]]] = (
    (re.compile(rf"{WRITING} (me )?(a|an|my|the)( \w+)? (card|qwestly card)\b"), (MAKE_CARD,)),
    (
        re.compile(rf"{WRITING} (me )?(a|an|my|the) linkedin about\b|{WRITING} (a|an|my|the) about section\b"),
        (SUGGEST_ABOUT,),
    ),
    (re.compile(rf"{WRITING} (me )?(a|an|my|some|three)?\s?(\w+ )?headlines?\b"), (model_wishes.SUGGEST_HEADLINE,)),
    (
        re.compile(
            r"\bknow about (me|my)\b|\bwho am i\b|\b(tell|remind) me about (me|myself)\b"
            r"|\babout my (career|background)\b|\bsummari[sz]e (me|my (career|background))\b"
        ),
        (PROFILE, MEMORIES, KNOWLEDGE),
    ),
    (
        re.compile(
            r"\bqwestly\b|\bcards?\b|\bpric(e|es|ing)\b|\bprivacy\b|\bsubscription\b|\bautonomy\b|\bapprovals?\b"
        ),
        (DOCS,),
    ),
)
"""The first that matches decides alone."""
PERSONAL: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"\b(name|title|employer|profile|headline|company)\b"), PROFILE),
    (
        re.compile(
            r"\bgoals?\b|\bremember|\bprefer|\btold you\b|\bambitions?\b"
            r"|\b(do|did|have|am|was) i (\w+ )?(live|lived|work|worked|like|want|speak|know|decide|moved?|based)\b"
        ),
        MEMORIES,
    ),
    (
        re.compile(r"\br[eé]sum[eé]\b|\bcv\b|\btranscripts?\b|\bdocuments?\b|\binterviews?\b|\bprojects?\b|\bachieve"),
        KNOWLEDGE,
    ),
)
"""Each that matches adds its tool."""
HELP = re.compile(r"\bwhat can you\b|\bcapabilit|\bhelp\b|\bhow can you\b")

HELP_IN_CRISIS = (
    "I am really sorry that you are feeling this way. You do not have to go through it alone: please talk to "
    "somebody now. In the US you can call or text 988 at any hour; elsewhere, call your local emergency number. "
    "If you are in immediate danger, call it right away."
)
CALM = "I would like to help, and that works best when we speak kindly with each other. What is on your mind?"
GREETING = "Hello! I am your career agent. Ask me what we know about you, what you told me, or how Qwestly works."
THANKS = "You are welcome. Is there anything else about your career that I can look at?"
NOT_SURE = (
    "I can help with your career: ask me what we know about you, about your goals or documents, or how Qwestly works."
)

QUERY_CHARACTERS = 300


def think(body: Mapping[str, Json], turns: Sequence[script.Turn]) -> Thought:
    """The answer to a chat completion request: tool calls, words about their results, or what its schema wants. What
    `turns` say comes before what is here."""
    messages = [message for message in body["messages"] if message.get("role") not in ("system", "developer")]
    said = [_text(message) for message in messages if message.get("role") == "user"]
    words = model_wishes.without_news(said[-1]) if said else ""
    plain = words.lower().replace("’", "'")
    tools = _offered(body)
    if not _answered(messages):
        if said and (news := model_wishes.news_in(said[-1])):
            return Thought(news)
        if wish := model_wishes.wish_in(words, tools):
            return Thought(tool_calls=[{"name": wish["name"], "arguments": wish["arguments"]}])
    asked, output, schema = _instructions(body), _output_tool(body, tools), _output_schema(body)
    talks = schema is None and not (tools and all(name.startswith("final_result") for name in tools))
    results = list(_results(messages))
    if talks and not SELF_HARM.search(plain) and (played := script.play(turns, asked, words, tools, results)):
        return Thought(played.text, [{"name": name, "arguments": each} for name, each in played.calls.items()])
    if headlines := model_wishes.headlines_in(results):
        proposed: list[ToolCall] = [{"name": each["name"], "arguments": each["arguments"]} for each in headlines]
        return Thought(tool_calls=proposed)
    wanted = [] if _answered(messages) else [name for name in _choose(plain) if name in tools]
    if wanted:
        return Thought(tool_calls=[_call(tools[name], words) for name in wanted])
    given = script.give(turns, asked, said[0]) if said and (output or schema) else None
    if output is not None:
        corrections = "\n".join(_text(message) for message in messages[1:])
        final = _final(output, asked, said[0], corrections) if given is None else _called(output, given)
        return Thought(tool_calls=[final or _call(output, words)])
    if schema is not None:
        return Thought(json.dumps(instance(schema, words) if given is None else given, ensure_ascii=False))
    return Thought(_fused(messages) if _answered(messages) else _plain_answer(plain, said))


def _final(output: Tool, asked: str, words: str, corrections: str) -> ToolCall | None:
    """The answer to a request of one of our own writers and readers."""
    if asked.startswith(model_writer.IS_ASKED):
        return _called(output, model_writer.answer(words, corrections))
    if asked.startswith(model_judge.IS_ASKED):
        return _called(output, {_list_of(output): model_judge.verdicts_on(words)})
    return None


def _called(output: Tool, arguments: dict[str, Json]) -> ToolCall:
    return {"name": output["name"], "arguments": arguments}


def _list_of(output: Tool) -> str:
    """The name of the one list in what is asked for."""
    properties = (output.get("parameters") or {}).get("properties", {})
    return next((name for name, schema in properties.items() if schema.get("type") == "array"), "response")


def _choose(plain: str) -> Sequence[str]:
    if SELF_HARM.search(plain) or ABUSE.search(plain) or EARLIER_TURN.search(plain):
        return ()
    for pattern, names in EXCLUSIVE:
        if pattern.search(plain):
            return names
    personal = [name for pattern, name in PERSONAL if pattern.search(plain)]
    return personal or ([CAPABILITIES] if HELP.search(plain) else [])


def _plain_answer(plain: str, said: Sequence[str]) -> str:
    if SELF_HARM.search(plain):
        return HELP_IN_CRISIS
    if ABUSE.search(plain):
        return CALM
    if EARLIER_TURN.search(plain):
        return f"You wrote: “{said[-2]}”" if len(said) > 1 else "This is the first message of yours that I can see."
    if re.match(r"\W*(hello|hi|hey|good (morning|afternoon|evening))\b", plain):
        return GREETING
    return THANKS if re.search(r"\bthank(s| you)\b", plain) else NOT_SURE


# --- what a request offers ----------------------------------------------------------------------------------------


def _text(message: Message) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


def _instructions(body: Mapping[str, Json]) -> str:
    return "\n".join(_text(m) for m in body["messages"] if m.get("role") in ("system", "developer"))


def _answered(messages: Sequence[Message]) -> bool:
    """Whether tools have answered since the user spoke."""
    return bool(messages) and messages[-1].get("role") == "tool"


def _offered(body: Mapping[str, Json]) -> dict[str, Tool]:
    """The functions that may be called, by name: all tools, or those that `tool_choice` leaves."""
    tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or ()}
    match body.get("tool_choice"):
        case "none":
            return {}
        case {"function": {"name": name}}:
            return {name: tools[name]} if name in tools else {}
        case {"allowed_tools": {"tools": allowed}}:
            names = {tool["function"]["name"] for tool in allowed}
            return {name: tool for name, tool in tools.items() if name in names}
        case _:
            return tools


def _output_tool(body: Mapping[str, Json], tools: Mapping[str, Tool]) -> Tool | None:
    """The tool that takes the final answer. pydantic-ai names it `final_result…` or says so in its description, and
    does not force it on a model that thinks. Whoever forces a call without such a tool means the last one offered."""
    for name, tool in tools.items():
        if name.startswith("final_result") or "ends this conversation" in (tool.get("description") or ""):
            return tool
    return list(tools.values())[-1] if tools and _must_call(body.get("tool_choice")) else None


def _must_call(tool_choice: Json) -> bool:
    match tool_choice:
        case "required" | {"type": "function"} | {"allowed_tools": {"mode": "required"}}:
            return True
        case _:
            return False


def _output_schema(body: Mapping[str, Json]) -> Json | None:
    match body.get("response_format"):
        case {"type": "json_schema", "json_schema": {"schema": schema}}:
            return schema
        case {"type": "json_object"}:
            # The schema is then part of the instructions, in words.
            schemas = [v for v in _json_in(_instructions(body)) if isinstance(v, dict) and "properties" in v]
            return schemas[-1] if schemas else {"type": "object"}
        case _:
            return None


def _call(tool: Tool, words: str) -> ToolCall:
    return {"name": tool["name"], "arguments": instance(tool.get("parameters") or {"type": "object"}, words)}


# --- an instance of a schema --------------------------------------------------------------------------------------

FORMATS = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "time": "00:00:00Z",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "email": "someone@example.com",
    "uri": "https://example.com/",
}


def instance(schema: Json, words: str) -> Json:
    """The smallest value that a JSON schema accepts, free strings taken from `words`. Patterns are not read."""
    return _instance(schema, words.strip()[:QUERY_CHARACTERS] or "nothing", schema)


def _instance(schema: Json, words: str, root: Json) -> Json:
    if "$ref" in schema:
        return _instance(_resolved(schema["$ref"], root), words, root)
    for fixed in ("const", "default"):
        if fixed in schema:
            return schema[fixed]
    if "enum" in schema:
        return schema["enum"][0]
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        # Null first: a schema that contains itself ends nowhere else.
        return None if {"type": "null"} in alternatives else _instance(alternatives[0], words, root)
    if "allOf" in schema:
        return _instance(
            _merged([_resolved(part["$ref"], root) if "$ref" in part else part for part in schema["allOf"]]),
            words,
            root,
        )
    return _of_type(schema, words, root)


def _of_type(schema: Json, words: str, root: Json) -> Json:
    kinds = schema.get("type", "object")
    kind = kinds if isinstance(kinds, str) else ("null" if "null" in kinds else kinds[0])
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: _instance(properties.get(name, {}), words, root) for name in schema.get("required", ())}
    if kind == "array":
        return [
            _instance(schema.get("items", {"type": "string"}), words, root) for _ in range(schema.get("minItems", 0))
        ]
    if kind == "string":
        return _string(schema, words)
    if kind in ("integer", "number"):
        return _number(schema)
    return False if kind == "boolean" else None


def _string(schema: Json, words: str) -> str:
    if schema.get("format") in FORMATS:
        return FORMATS[schema["format"]]
    long_enough = words * math.ceil(schema.get("minLength", 0) / len(words) or 1)
    return long_enough[: schema.get("maxLength", len(long_enough))]


def _number(schema: Json) -> int | float:
    """Zero, or what lies next to it within the bounds."""
    step = 1 if "integer" in schema["type"] else 0.01
    lowest = schema.get("minimum", schema.get("exclusiveMinimum", -math.inf) + step)
    highest = schema.get("maximum", schema.get("exclusiveMaximum", math.inf) - step)
    return min(max(0, lowest), highest)


def _resolved(reference: str, root: Json) -> Json:
    for name in reference.removeprefix("#").strip("/").split("/"):
        root = root[name] if name else root
    return root


def _merged(schemas: Sequence[Json]) -> Json:
    merged: dict[str, Json] = {}
    for schema in schemas:
        properties = {**merged.get("properties", {}), **schema.get("properties", {})}
        required = [*merged.get("required", ()), *schema.get("required", ())]
        merged = {**merged, **schema, "properties": properties, "required": required}
    return merged


# --- an answer out of what the tools returned ---------------------------------------------------------------------

SOURCES = {
    PROFILE: "your profile",
    MEMORIES: "what you told me",
    KNOWLEDGE: "your documents",
    DOCS: "the Qwestly docs",
    CAPABILITIES: "the list of what I can do",
    SUGGEST_ABOUT: "a draft of your About section",
    model_wishes.SUGGEST_HEADLINE: "drafts of a headline",
    model_wishes.READ_DRAFT: "your draft",
}
FACTS_PER_SOURCE = 12
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
"""How pydantic-ai ends what it returns for a call that failed."""
FAILED = re.compile(r"\W*(error|failed|could not|cannot|unavailable)\b", re.I)
JSON_START = re.compile(r"[\[{]")
NOTHING = re.compile(r"\W*(no|none|nothing|not found|empty)\b", re.I)


CARD_IS_BEING_MADE = (
    "I have begun to draft your card. You can watch how far it is, and are asked before anybody sees it."
)


def _fused(messages: Sequence[Message]) -> str:
    if any(name == MAKE_CARD and not _is_failure(result) for name, result in _results(messages)):
        return CARD_IS_BEING_MADE
    found: list[str] = []
    missing: list[str] = []
    failed: list[str] = []
    proposed: list[str] = []
    for name, result in _results(messages):
        if name in model_wishes.PROPOSING:
            proposed.append(model_wishes.outcome_in(result) or "That cannot be done as it is.")
            continue
        source = SOURCES.get(name, name.replace("_", " "))
        if _is_failure(result):
            failed.append(source)
        elif facts := _facts_in(result):
            found.append(f"- **From {source}:** {'; '.join(facts)}.")
        else:
            missing.append(source)
    parts = [*proposed, *(["Here is what I found:\n\n" + "\n".join(found)] if found else [])]
    if missing:
        parts.append(f"I found nothing about that in {_listed(missing, 'or')}.")
    if failed:
        parts.append(f"I could not look at {_listed(failed, 'and')} just now.")
    return "\n\n".join(parts)


def _results(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Tool name and content of each result since the user last spoke."""
    spoken = max((i for i, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    for message in messages[spoken + 1 :]:
        if message.get("role") == "tool":
            yield names.get(message.get("tool_call_id", ""), "that tool"), _text(message)


def _is_failure(result: str) -> bool:
    if result.rstrip().endswith(RETRY):
        return True
    if values := _json_in(result):
        return isinstance(values[0], dict) and "error" in values[0]
    return FAILED.match(_without_fences(result)) is not None


def _facts_in(result: str) -> list[str]:
    values = _json_in(result)
    if values:
        facts = [fact for value in values for fact in _facts(value)]
    else:
        text = _without_fences(result)
        facts = [] if NOTHING.match(text) else _sentences(text)[:3]
    return list(dict.fromkeys(_short(fact) for fact in facts if fact.strip()))[:FACTS_PER_SOURCE]


def _facts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _facts(item)
    elif isinstance(value, dict):
        yield from _facts_of_object(value)


def _facts_of_object(value: Mapping[str, Json]) -> Iterator[str]:
    if "company" in value and "title" in value:
        yield f"{value['title']} at {value['company']}"
        return
    if value.get("before") and isinstance(value.get("content"), str):
        since = f" Since {value['since']}." if value.get("since") else ""
        yield f"{value['content']}{since}" + "".join(f" Before that: “{each['content']}”" for each in value["before"])
        return
    for key in TEXT_KEYS:
        if isinstance(value.get(key), str):
            title = value.get("title") or value.get("label")
            yield f"{_short(value[key])} ({title})" if title else value[key]
            return
    for key, item in value.items():
        if key in UNSAID_KEYS or isinstance(item, bool) or item is None:
            continue
        if isinstance(item, dict) or (isinstance(item, list) and not all(isinstance(leaf, str) for leaf in item)):
            yield from _facts(item)
        elif item:
            said = ", ".join(item) if isinstance(item, list) else str(item)
            yield said if key in UNLABELLED_KEYS else f"{key.replace('_', ' ')}: {said}"


def _json_in(text: str) -> list[Json]:
    """Each JSON object, and each array of anything but numbers, that stands somewhere in a text, from left to right."""
    decoder, values, at = json.JSONDecoder(), [], 0
    while (start := JSON_START.search(text, at)) is not None:
        try:
            value, at = decoder.raw_decode(text, start.start())
            # A number in brackets is a footnote.
            if not (isinstance(value, list) and any(isinstance(item, int | float) for item in value)):
                values.append(value)
        except json.JSONDecodeError:
            at = start.start() + 1
    return values


def _without_fences(text: str) -> str:
    return re.sub(r"</?[\w:-]+[^<>]*>", " ", text).strip()


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in re.split(r"(?<=[.!?])\s+|\n+", text.strip()) if sentence.strip()]


def _short(fact: str) -> str:
    """The sentences that fit, without the full stop, which the answer sets itself."""
    fact = " ".join(fact.split())
    if len(fact) > FACT_CHARACTERS:
        cut = fact[:FACT_CHARACTERS]
        ends = [match.end() for match in re.finditer(r"[.!?](?=\s)", cut)]
        fact = cut[: ends[-1]] if ends else cut.rsplit(" ", 1)[0] + "…"
    return fact.removesuffix(".")


def _listed(items: Sequence[str], conjunction: str) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {conjunction} {items[-1]}"


# --- meaning as numbers -------------------------------------------------------------------------------------------

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a about am an and any are as at be been but by can could did do does for from had has have he how i if in "
        "into is it its me my no not of on or our s she so than that the their them then there these they this to us "
        "was we were what when where which who why will with would you your",
    )
)
TRIGRAM_WEIGHT = 0.25


def embedding(text: str, dimensions: int) -> list[float]:
    """A vector of length 1 whose cosine with another's follows the words, and less the letters, that both share."""
    vector = [0.0] * dimensions
    words = {_stem(word) for word in re.findall(r"[^\W_]+", text.lower()) if word not in STOP_WORDS} or {text.strip()}
    for word in sorted(words):
        _add(vector, f"word {word}", 1.0)
        padded = f" {word} "
        for i in range(len(padded) - 2):
            _add(vector, f"letters {padded[i : i + 3]}", TRIGRAM_WEIGHT)
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector]


def _add(vector: list[float], feature: str, weight: float) -> None:
    # A sign besides the place makes collisions cancel out instead of adding up to likeness.
    digest = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest())
    vector[(digest >> 1) % len(vector)] += weight if digest & 1 else -weight


def _stem(word: str) -> str:
    for ending, instead, shortest in (("ies", "y", 5), ("ing", "", 6), ("ed", "", 5), ("es", "", 5), ("s", "", 4)):
        if word.endswith(ending) and not word.endswith("ss") and len(word) >= shortest:
            return word.removesuffix(ending) + instead
    return word
