"""Parse what a model means, over the wire, from servers that only resemble OpenAI's."""

import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

import httpx2
import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from qwestly_agent.llm.client import HAS_MARKUP, VisibleText
from qwestly_agent.llm.models import make_models
from tests.counts import count
from tests.servers import settings_for

TOOLS = ("get_user_profile", "search_user_memories", "query_qwestly_docs", "publish_card", "list_capabilities")
Json = dict[str, Any]
Called = list[tuple[str, Any]]
Row = tuple[Any, Any, Any, Any]
"""Index, id, name and arguments of a delta."""


class Wire:
    """A model whose server answers with these deltas."""

    def __init__(self) -> None:
        self.deltas: list[Json] = []
        self.http = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))
        settings = settings_for("mongodb://nowhere", "http://127.0.0.1:1/v1")
        self.model: Model = make_models(settings, self.http)["fast"].model

    async def read(self, deltas: Iterable[Json]) -> ModelResponse:
        self.deltas = list(deltas)
        tools = [ToolDefinition(name=name) for name in TOOLS]
        asked = ModelRequestParameters(function_tools=tools, allow_text_output=True)
        prompt: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("Hello")])]
        async with self.model.request_stream(prompt, None, asked) as stream:
            async for _ in stream:
                pass
            return stream.get()

    def _answer(self, _: httpx2.Request) -> httpx2.Response:
        chunks = [{"delta": delta} for delta in self.deltas] + [{"delta": {}, "finish_reason": "stop"}]
        lines = ["data: " + json.dumps({"id": "c", "choices": [{"index": 0, **chunk}]}) + "\n\n" for chunk in chunks]
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content="".join([*lines, "data: [DONE]\n\n"]).encode())


@pytest.fixture
def wire() -> Wire:
    return Wire()


def called(response: ModelResponse) -> Called:
    return [(part.tool_name, part.args_as_dict()) for part in response.parts if isinstance(part, ToolCallPart)]


def deltas_of(*calls: Row) -> list[Json]:
    return [
        {
            "tool_calls": [
                {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": a}}
            ]
        }
        for index, call_id, name, a in calls
    ]


GOALS, SEARCH, PROFILE = {"query": "goals"}, "search_user_memories", "get_user_profile"
ONE: Called = [(SEARCH, GOALS)]
BOTH: Called = [*ONE, (PROFILE, {})]
TWICE: Called = [*ONE, (SEARCH, {"query": "pay"})]
SHAPES: dict[str, tuple[Sequence[Row], Called]] = {
    "the name in every delta": (
        [(0, "a", SEARCH, ""), (0, "a", SEARCH, '{"query":'), (0, "a", SEARCH, ' "goals"}')],
        ONE,
    ),
    "two calls under one index": ([(0, "a", SEARCH, '{"query": "goals"}'), (0, "b", PROFILE, "{}")], BOTH),
    "of one tool under one index": (
        [(0, "a", SEARCH, '{"query": "goals"}'), (0, "b", SEARCH, '{"query": "pay"}')],
        TWICE,
    ),
    "one tool, one index, no ids": (
        [(0, None, SEARCH, '{"query": "goals"}'), (0, None, SEARCH, '{"query": "pay"}')],
        TWICE,
    ),
    "announced before their arguments": (
        [
            (0, "a", SEARCH, ""),
            (0, "b", SEARCH, ""),
            (0, "a", None, '{"query": "go'),
            (0, "b", None, '{"query": "pay"}'),
            (0, "a", None, 'als"}'),
        ],
        TWICE,
    ),
    "null, and the id late": ([(0, "a", SEARCH, ""), (0, None, None, '{"query": "goals"}')], ONE),
    "no index": ([(None, "a", SEARCH, '{"query":'), (None, None, None, ' "goals"}'), (None, "b", PROFILE, "{}")], BOTH),
    "an id for each delta": ([(0, "a", SEARCH, ""), (0, "b", SEARCH, '{"query":'), (0, "c", SEARCH, ' "goals"}')], ONE),
    "one id for all": ([(0, "x", SEARCH, '{"query": "goals"}'), (1, "x", PROFILE, "{}")], BOTH),
    "the name in pieces": (
        [(0, "a", "search_", ""), (0, None, "user_", ""), (0, None, "memories", '{"query": "goals"}')],
        ONE,
    ),
    "a growing name": (
        [(0, "a", "search", ""), (0, "a", "search_user_memories", ""), (0, "a", None, '{"query": "goals"}')],
        ONE,
    ),
    "a doubled name": ([(0, "a", "functions." + SEARCH, '{"query": "goals"}')], ONE),
    "the arguments again": (
        [(0, "a", SEARCH, '{"query":'), (0, None, None, ' "goals"}'), (0, "a", SEARCH, '{"query": "goals"}')],
        ONE,
    ),
    "snapshots": (
        [(0, "a", SEARCH, '{"que'), (0, "a", None, '{"query": "go'), (0, "a", None, '{"query": "goals"}')],
        ONE,
    ),
    "each delta twice": ([(0, "a", SEARCH, '{"query":')] * 2 + [(0, "a", None, ' "goals"}')] * 2, ONE),
    "an empty object first": ([(0, "a", SEARCH, "{}"), (0, None, None, '{"query": "goals"}')], ONE),
    "an object": ([(0, "a", SEARCH, GOALS)], ONE),
    "JSON in a string": ([(0, "a", SEARCH, json.dumps(json.dumps(GOALS)))], ONE),
    "no arguments": ([(0, "a", PROFILE, None)], [(PROFILE, {})]),
    "markup behind it": ([(0, "a", SEARCH, '{"query": "goals"}<｜tool▁call▁end｜>')], ONE),
    "the name last": ([(0, "a", None, '{"query":'), (0, "a", None, ' "goals"}'), (0, "a", SEARCH, "")], ONE),
    "no ids, a second name": ([(0, None, SEARCH, '{"query": "goals"}'), (0, None, PROFILE, "{}")], BOTH),
    "in a fence": ([(0, "a", SEARCH, '```json\n{"query": "goals"}\n```')], ONE),
    "its first index is 1": (
        [(1, "a", SEARCH, '{"query":'), (1, None, None, ' "goals"}'), (2, "b", PROFILE, "")],
        BOTH,
    ),
    "an empty name and id later": ([(0, "a", SEARCH, '{"query":'), (0, "", "", ' "goals"}')], ONE),
    "an index for each delta": (
        [(0, "a", SEARCH, ""), (1, None, None, '{"query":'), (2, None, None, ' "goals"}')],
        ONE,
    ),
}


@pytest.mark.anyio
@pytest.mark.parametrize("shape", SHAPES)
async def test_a_tool_call_is_read_as_it_was_meant(wire: Wire, shape: str) -> None:
    sent, wanted = SHAPES[shape]
    response = await wire.read(deltas_of(*sent))
    assert called(response) == wanted
    ids = [part.tool_call_id for part in response.parts if isinstance(part, ToolCallPart)]
    assert shape == "one id for all" or len(set(ids)) == len(ids)


@pytest.mark.anyio
async def test_the_older_form_of_a_tool_call_is_read(wire: Wire) -> None:
    pieces = [{"name": SEARCH, "arguments": ""}, {"arguments": '{"query":'}, {"arguments": ' "goals"}'}]
    assert called(await wire.read({"function_call": piece} for piece in pieces)) == ONE


@pytest.mark.anyio
async def test_halves_of_a_character_are_joined_in_text_and_arguments(wire: Wire) -> None:
    words = [{"content": "Well done \ud83d"}, {"content": "\ude00!"}]
    calls = deltas_of((0, "a", SEARCH, '{"query": "\ud83d'), (0, None, None, '\ude00"}'))
    response = await wire.read([*words, *calls])
    assert (response.text, called(response)) == ("Well done 😀!", [(SEARCH, {"query": "😀"})])


class Dialect:
    """A server's way of streaming calls."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.index = chance.choice(["proper", "zero", "none"])
        self.ids = chance.choice(
            ["first", "all", "fresh"] if self.index != "proper" else ["first", "all", "none", "fresh"]
        )
        self.names = chance.choice(["first", "all", "pieces", "growing"])
        self.arguments = chance.choice(["whole", "pieces", "again", "snapshots", "twice", "object", "empty first"])
        self.interleaved = self.index == "proper" or self.ids == "all"
        if self.ids == "fresh" and self.names == "pieces" and self.index != "proper":
            self.names = "first"  # a name that is no tool's, under its own id, is ambiguous

    def stream(self, calls: Called) -> list[Json]:
        each = [self._call(place, *call) for place, call in enumerate(calls)]
        if not self.interleaved or self.chance.random() < 0.5:
            return deltas_of(*(delta for deltas in each for delta in deltas))
        mixed = []
        while any(each):
            mixed.append(self.chance.choice([deltas for deltas in each if deltas]).pop(0))
        return deltas_of(*mixed)

    def _call(self, place: int, name: str, arguments: Json) -> list[Row]:
        half = self.chance.randrange(1, len(name))
        names = {"pieces": [name[:half], name[half:]], "growing": [name[:half], name]}.get(self.names, [name])
        written = self._arguments(json.dumps(arguments, ensure_ascii=self.chance.random() < 0.5), arguments)
        rows = [(name, None) for name in names] if len(names) > 1 or self.chance.random() < 0.5 else []
        rows += [
            (name if self.names == "all" or (not rows and i == 0) else None, piece) for i, piece in enumerate(written)
        ]
        index = {"proper": place, "zero": 0, "none": None}[self.index]
        return [(index, self._id(place, i), name, piece) for i, (name, piece) in enumerate(rows)]

    def _id(self, place: int, i: int) -> str | None:
        fresh = f"fresh_{self.chance.getrandbits(32)}"
        return {"first": None if i else f"call_{place}", "all": f"call_{place}", "none": None, "fresh": fresh}[self.ids]

    def _arguments(self, text: str, arguments: Json) -> list[Any]:
        cuts = sorted(self.chance.sample(range(1, len(text)), min(2, len(text) - 1)))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        match self.arguments:
            case "whole":
                return [text]
            case "again":
                return [*pieces, text]
            case "snapshots":
                return [text[:cut] for cut in [*cuts, len(text)]]
            case "twice":
                return [piece for piece in pieces for _ in range(2)]
            case "object":
                return [arguments]
            case "empty first":
                return ["{}", *pieces]
            case _:
                return pieces


def some_calls(chance: random.Random) -> Called:
    names = chance.sample(TOOLS, chance.choice([1, 1, 2, 3]))
    values = ["goals", "São Paulo", '{x} "y"', 3, None, ["a", {"b": 1}], "😀", ""]
    return [
        (name, {key: chance.choice(values) for key in chance.sample("abcd", chance.randrange(4))}) for name in names
    ]


@pytest.mark.anyio
@pytest.mark.thorough
async def test_no_readable_call_is_lost(wire: Wire) -> None:
    for seed in range(count(200, 1_000, small=40)):
        chance = random.Random(seed)
        calls, dialect = some_calls(chance), Dialect(chance)
        sent = dialect.stream(calls)
        assert sorted(called(await wire.read(sent)), key=str) == sorted(calls, key=str), (vars(dialect), sent)


# --- markup in the words ----------------------------------------------------------------------------------------------

DSML = (
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_user_profile">\n<｜DSML｜parameter name="a" string="true">x'
    "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"
)
CALLED_IN_WORDS = {
    "DeepSeek's": DSML,
    "with doubled bars": DSML.replace("｜", "｜｜"),
    "with plain bars": DSML.replace("｜", "|"),
    "with spaces": DSML.replace("｜", " ｜ "),
    "escaped": DSML.replace("<", "&lt;").replace(">", "&gt;"),
    "without its first character": DSML[1:],
    "an end alone": "</｜DSML｜function_calls>",
    "tokens": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_user_profile\n```json\n{}\n```",
    "Kimi's": "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_user_profile:0",
    "harmony": "<|channel|>commentary to=functions.get_user_profile<|message|>{}",
    "Qwen's": '<tool_call>\n{"name": "get_user_profile", "arguments": {}}\n</tool_call>',
    "Llama's": "<function=get_user_profile>{}</function>",
    "Mistral's": '[TOOL_CALLS][{"name": "get_user_profile", "arguments": {}}]',
    "XML": '<function_calls>\n<invoke name="get_user_profile">\n</invoke>\n</function_calls>',
    "XML of a namespace": '<x:function_calls>\n<x:invoke name="get_user_profile">',
    "an invocation": '<invoke name="get_user_profile"><parameter name="a">x</parameter></invoke>',
    "a result": "<tool_response>\n{}\n</tool_response>",
}
BEFORE = (
    "",
    "Let me look.\n\n",
    "A | B, x < y and <ul><li>one</li></ul> ",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "😀 [a](b) ",
)
AFTER = ("", "\n\nThat is all.", " <b>So.</b>")
THOUGHTS = (
    "<think>They want {x}.</think>",
    "<think>\nA < B | C\n</think>",
    "<THINKING>so</THINKING>",
    "&lt;think&gt;a&lt;/think&gt;",
)
CLEAN = (
    "<ul><li>A | B</li></ul> and `a <| b`, x <y, x<5, 3 > 2, I <3 it",
    "| Skill | Years |\n|---|---|\n| Go | 3 |",
    "名前｜年齢｜職業、そして「a｜b」",
    "[link](https://qwestly.com) [TODO] [A] &lt;b&gt; &amp; R&D, <invoice 7>, <function> of a <parameter>",
    "Haskell's <|> and F#'s <| and |> and || and <-- and 😀👨‍👩‍👧",
    "I think so; thinking <aloud>: <tools>",
)


def shown_of(pieces: Iterable[str]) -> tuple[str, bool]:
    words = VisibleText()
    return "".join([*map(words.feed, pieces), words.end()]), words.has_markup


def cuts_of(text: str) -> list[list[str]]:
    """The text in two pieces, cut at each place; and letter by letter."""
    return [[text[:at], text[at:]] for at in range(len(text) + 1)] + [list(text)]


@pytest.mark.parametrize("markup", CALLED_IN_WORDS)
def test_a_call_in_text_is_not_shown_wherever_it_is_split(markup: str) -> None:
    for pieces in cuts_of(BEFORE[2] + CALLED_IN_WORDS[markup] + AFTER[1]):
        shown, has_markup = shown_of(pieces)
        assert (shown.rstrip(), has_markup) == (BEFORE[2].rstrip(), True), pieces


@pytest.mark.parametrize(
    "end", ["<｜end▁of▁sentence｜>", "<|im_end|>\n", "<|eot_id|><|endoftext|>", "&lt;|im_end|&gt;"]
)
def test_an_end_token_is_neither_shown_nor_a_reason_to_retry(end: str) -> None:
    for pieces in cuts_of(f"You are Ada.{end}"):
        assert shown_of(pieces) == ("You are Ada.", False), pieces
    assert shown_of(["You are Ada.", end, "<tool_call>"]) == ("You are Ada.", True)


@pytest.mark.parametrize("thought", THOUGHTS)
def test_a_thought_is_not_shown_and_what_follows_is(thought: str) -> None:
    for pieces in cuts_of(f"{thought}\n\nHello {thought}there <b>you</b>"):
        assert shown_of(pieces) == ("Hello there <b>you</b>", False), pieces
    assert shown_of(["Hello <think>that it", " was said"]) == ("Hello ", True)
    assert shown_of(["<think>a</think>"]) == ("", False)


@pytest.mark.parametrize("text", CLEAN)
def test_other_text_is_unchanged(text: str) -> None:
    for pieces in cuts_of(text):
        assert shown_of(pieces) == (text, False), pieces


def test_an_answer_cut_inside_a_tag_shows_nothing_of_the_tag() -> None:
    for markup in (DSML, DSML.replace("｜", "｜｜"), CALLED_IN_WORDS["tokens"], THOUGHTS[0]):
        for at in range(len(markup) - len("/think>")):
            shown, _ = shown_of(["So: ", markup[:at]])
            assert shown in ("So: ", "So: <", "So: <t", "So: <th")


@pytest.mark.anyio
@pytest.mark.thorough
async def test_tool_call_markup_is_neither_shown_nor_stored(wire: Wire) -> None:
    for seed in range(count(50, 500, small=5)):
        chance = random.Random(seed)
        before, after = chance.choice(BEFORE), chance.choice(AFTER)
        text = before + chance.choice([*CALLED_IN_WORDS.values()]) + after
        for pieces in cuts_of(text):
            shown, has_markup = shown_of(pieces)
            assert (shown.strip(), has_markup) == (before.strip(), True), pieces
        at = chance.randrange(len(text))
        response = await wire.read([{"content": text[:at]}, {"content": text[at:]}])
        assert (response.text or "").strip() == before.strip()
        assert (response.provider_details or {})[HAS_MARKUP]
