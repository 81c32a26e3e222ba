"""The scripted model server, as the clients of the real providers meet it, and as a socket does."""

import asyncio
import json
import math
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx2
import openai
import pytest
from pydantic import BaseModel, Field
from pydantic_ai import Agent, NativeOutput, PromptedOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputSpec
from pydantic_ai.providers.deepseek import DeepSeekProvider
from pydantic_ai.providers.openai import OpenAIProvider

from infra.local.model_answers import NOBODY_YET
from infra.local.model_faults import HUGE_LINE_BYTES, OTHER_LINES, Fault
from infra.local.model_server import DIMENSIONS, ModelServer, Reply
from qwestly_agent.llm.models import PROFILES

T = TypeVar("T")
AGENT_TOOLS = (
    "get_user_profile",
    "search_user_memories",
    "query_user_knowledge",
    "query_qwestly_docs",
    "list_capabilities",
)
ABOUT_ME = {"get_user_profile", "search_user_memories", "query_user_knowledge"}


@pytest.fixture(scope="module")
def running_server() -> Iterator[ModelServer]:
    with ModelServer(more_models=["gpt-5-mini"]) as server:
        yield server


@pytest.fixture
def server(running_server: ModelServer) -> ModelServer:
    running_server.reset()
    return running_server


@pytest.fixture(scope="module")
def connection(running_server: ModelServer) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=running_server.base_url.removesuffix("/v1"), timeout=5) as client:
        yield client


@pytest.fixture
def http(server: ModelServer, connection: httpx2.Client) -> httpx2.Client:
    return connection


@asynccontextmanager
async def provider_client(server: ModelServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=server.base_url, api_key="sk-test", max_retries=0, timeout=5) as client:
        yield client


def with_client(server: ModelServer, ask: Callable[[openai.AsyncOpenAI], Coroutine[Any, Any, T]]) -> T:
    async def run() -> T:
        async with provider_client(server) as client:
            return await ask(client)

    return asyncio.run(run())


def user(words: str) -> dict[str, Any]:
    return {"role": "user", "content": words}


def tool(name: str) -> dict[str, Any]:
    takes_query = name.startswith(("search", "query"))
    parameters = {
        "type": "object",
        "properties": {"query": {"type": "string"}} if takes_query else {},
        "required": ["query"] if takes_query else [],
    }
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


def chat(http: httpx2.Client, *messages: dict[str, Any], tools: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    offered = {"tools": [tool(name) for name in tools]} if tools else {}
    body = {"model": "deepseek-flash", "messages": messages, **offered, **more}
    response = http.post("/v1/chat/completions", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def said(answer: dict[str, Any]) -> str:
    return answer["choices"][0]["message"]["content"] or ""


def called(answer: dict[str, Any]) -> set[str]:
    return {call["function"]["name"] for call in answer["choices"][0]["message"].get("tool_calls", ())}


# --- what the scripts say ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "tools"),
    [
        ("What do we know about me?", ABOUT_ME),
        ("Who am I?", ABOUT_ME),
        ("Tell me about my career so far", ABOUT_ME),
        ("What are my goals?", {"search_user_memories"}),
        ("Remember that I prefer remote work", {"search_user_memories"}),
        ("What does my résumé say?", {"query_user_knowledge"}),
        ("Which projects did I achieve most in?", {"query_user_knowledge"}),
        ("Do you remember my interview?", {"search_user_memories", "query_user_knowledge"}),
        ("What is my current title?", {"get_user_profile"}),
        ("Who is my employer?", {"get_user_profile"}),
        ("How does Qwestly work?", {"query_qwestly_docs"}),
        ("What does a card show, and what about pricing?", {"query_qwestly_docs"}),
        ("What can you do?", {"list_capabilities"}),
        ("Can you help me with my goals?", {"search_user_memories"}),
        ("Hello there", set()),
        ("Thanks!", set()),
        ("The weather is nice", set()),
        ("I want to die, nobody reads my résumé", set()),
        ("You are a stupid bot, show my profile", set()),
    ],
)
def test_the_words_of_the_user_choose_the_tools(http: httpx2.Client, words: str, tools: set[str]) -> None:
    answer = chat(http, user(words), tools=AGENT_TOOLS)

    assert called(answer) == tools
    assert bool(said(answer)) is not bool(tools)


def test_only_what_is_offered_is_called_and_with_the_users_words_as_the_query(http: httpx2.Client) -> None:
    words = "What do we know about me?"

    answer = chat(http, user(words), tools=["search_user_memories"])

    [call] = answer["choices"][0]["message"]["tool_calls"]
    assert call["function"] == {
        "name": "search_user_memories",
        "arguments": json.dumps({"query": words}, separators=(",", ":")),
    }
    assert called(chat(http, user(words))) == set()
    assert called(chat(http, user(words), tools=AGENT_TOOLS, tool_choice="none")) == set()


def test_call_ids_never_repeat_not_even_those_of_an_earlier_servers_conversation(
    http: httpx2.Client, server: ModelServer
) -> None:
    def ids(*messages: dict[str, Any]) -> list[str]:
        answer = chat(http, *messages, user("Who am I?"), tools=AGENT_TOOLS)
        return [call["id"] for call in answer["choices"][0]["message"]["tool_calls"]]

    first = ids()
    server.reset()
    second = ids()
    earlier = {"role": "assistant", "content": None, "tool_calls": calls(("call_900", "get_user_profile"))}
    third = ids(user("Hello"), earlier, result("call_900", "{}"), {"role": "assistant", "content": "Hi"})

    assert len({*first, *second, *third}) == 9
    assert third[0] == "call_901"


def calls(*named: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"id": key, "type": "function", "function": {"name": name, "arguments": "{}"}} for key, name in named]


def result(id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


def after_tools(http: httpx2.Client, **results: str) -> str:
    """What is said when the user asked who they are and these tools returned that."""
    asked = {"role": "assistant", "content": None, "tool_calls": calls(*((name, name) for name in results))}
    answered = [result(name, content) for name, content in results.items()]
    return said(chat(http, user("Who am I?"), asked, *answered, tools=AGENT_TOOLS))


PROFILE = {
    "name": "Dana Reyes",
    "headline": "Staff engineer",
    "skills": ["Go", "SQL"],
    "employment": [{"title": "SRE", "company": "Acme"}],
}


def test_an_answer_is_fused_from_what_the_tools_returned_and_says_where_it_is_from(http: httpx2.Client) -> None:
    answer = after_tools(
        http,
        get_user_profile=json.dumps(PROFILE),
        search_user_memories='<memories note="data">\n[{"id": "m", "content": "Wants to lead a team."}]\n</memories>',
        query_user_knowledge=json.dumps({"passages": [{"title": "resume.pdf", "text": "Cut costs by 30 %."}]}),
    )

    assert answer == (
        "**Your profile**\n\n- **Dana Reyes**, Staff engineer\n- SRE at Acme\n- Skills: Go, SQL\n\n"
        "**What you told me**\n\n- Wants to lead a team.\n\n"
        "**Your documents**\n\n- resume.pdf: “Cut costs by 30 %.”"
    )


@pytest.mark.parametrize(
    "empty",
    [
        "{}",
        "[]",
        '{"memories": []}',
        "",
        "<memories></memories>",
        "Nothing was found.",
        '{"found": false, "note": "none"}',
    ],
)
def test_an_empty_result_is_said_honestly(http: httpx2.Client, empty: str) -> None:
    answer = after_tools(http, get_user_profile=json.dumps(PROFILE), search_user_memories=empty)

    assert "Dana Reyes" in answer
    assert answer.endswith("I found nothing about that in what you told me.")


@pytest.mark.parametrize(
    "failure",
    [
        '{"error": "out of reach"}',
        "Error: out of reach",
        '1 validation error:\n```json\n[{"type": "missing"}]\n```\n\nFix the errors and try again.',
    ],
)
def test_a_tools_error_is_said_in_a_sentence(http: httpx2.Client, failure: str) -> None:
    assert after_tools(http, query_user_knowledge=failure) == "I could not look at your documents just now."


def test_somebody_of_whom_nothing_is_known_is_led_to_a_first_sentence(http: httpx2.Client) -> None:
    assert after_tools(http, get_user_profile="{}", search_user_memories="[]", query_user_knowledge="[]") == NOBODY_YET


def test_of_much_the_first_is_told_and_how_much_is_left(http: httpx2.Client) -> None:
    answer = after_tools(http, search_user_memories=json.dumps([{"content": f"Fact {n}."} for n in range(10)]))
    assert answer.splitlines()[-2:] == ["- Fact 7.", "- … and 2 more: ask me about any of it."]


def test_a_result_in_prose_is_quoted(http: httpx2.Client) -> None:
    answer = after_tools(http, query_qwestly_docs="<docs>\nA card [1] shows your work. It is free.\n</docs>")

    assert answer == "**The Qwestly docs**\n\n- A card [1] shows your work.\n- It is free."


def test_somebody_in_danger_is_told_where_help_is(http: httpx2.Client) -> None:
    answer = said(chat(http, user("I can't go on, I want to kill myself"), tools=AGENT_TOOLS))

    assert "988" in answer
    assert "emergency number" in answer


def test_an_earlier_message_is_quoted_when_the_user_asks_for_it(http: httpx2.Client) -> None:
    history = [user("I work at Acme"), {"role": "assistant", "content": "Good."}]

    assert said(chat(http, *history, user("What did I just say?"))) == "You wrote: “I work at Acme”"
    assert "first message" in said(chat(http, user("What did I just say?")))


# --- the providers' clients ---------------------------------------------------------------------------------------


def test_a_streamed_answer_is_the_same_as_a_whole_one(server: ModelServer) -> None:
    async def ask(client: openai.AsyncOpenAI) -> tuple[Any, list[Any]]:
        request: dict[str, Any] = {
            "model": "gpt-5-mini",
            "messages": [user("Who am I?")],
            "tools": [tool(name) for name in AGENT_TOOLS],
        }
        whole = await client.chat.completions.create(**request)
        options = {"stream": True, "stream_options": {"include_usage": True}}
        return whole, [chunk async for chunk in await client.chat.completions.create(**request, **options)]

    whole, chunks = with_client(server, ask)

    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    pieces = [call for delta in deltas for call in delta.tool_calls or ()]
    for index, call in enumerate(whole.choices[0].message.tool_calls):
        own = [piece for piece in pieces if piece.index == index]
        assert own[0].function.name == call.function.name
        assert "".join(piece.function.arguments for piece in own) == call.function.arguments
    assert whole.choices[0].finish_reason == chunks[-2].choices[0].finish_reason == "tool_calls"
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens


def test_text_is_streamed_a_few_words_at_a_time_without_usage_unless_asked(server: ModelServer) -> None:
    server.script(Reply("One two three four,\n\nfive six seven."), Reply(["exactly ", "these\n", " "]))

    async def ask(client: openai.AsyncOpenAI) -> list[str]:
        stream = await client.chat.completions.create(
            model="deepseek-flash", messages=[{"role": "user", "content": "?"}], stream=True
        )
        return [chunk.choices[0].delta.content async for chunk in stream if chunk.choices[0].delta.content]

    assert with_client(server, ask) == ["One two three ", "four,\n\nfive six ", "seven."]
    assert with_client(server, ask) == ["exactly ", "these\n", " "]


def deepseek(client: openai.AsyncOpenAI) -> OpenAIChatModel:
    provider = DeepSeekProvider(openai_client=client)
    return OpenAIChatModel("deepseek-flash", provider=provider, profile=PROFILES["deepseek"])


def gpt(client: openai.AsyncOpenAI) -> OpenAIChatModel:
    return OpenAIChatModel("gpt-5-mini", provider=OpenAIProvider(openai_client=client))


MODELS = pytest.mark.parametrize("model", [deepseek, gpt])


@MODELS
def test_an_agent_takes_a_turn_with_parallel_tools_streamed(
    server: ModelServer, model: Callable[[openai.AsyncOpenAI], OpenAIChatModel]
) -> None:
    async def ask(client: openai.AsyncOpenAI) -> tuple[str, Any]:
        agent = Agent(model(client), instructions="Be brief.")

        @agent.tool_plain
        def get_user_profile() -> dict[str, Any]:
            return PROFILE

        @agent.tool_plain
        def search_user_memories(query: str) -> list[dict[str, str]]:
            return [{"content": f"Asked: {query}"}]

        async with agent.run_stream("What do we know about me?") as run:
            pieces = [piece async for piece in run.stream_text(delta=True, debounce_by=None)]
            return "".join(pieces), run.usage

    answer, usage = with_client(server, ask)

    assert "Dana Reyes" in answer
    assert "Asked: What do we know about me?" in answer
    assert (usage.requests, usage.tool_calls) == (2, 2)
    assert usage.cache_read_tokens > 0
    assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2


class Goal(BaseModel):
    title: str = Field(max_length=20)
    kind: str = Field(json_schema_extra={"enum": ["career", "life"]})
    weight: float = Field(gt=0, le=1)
    steps: list[str] = Field(min_length=1)
    parent: "Goal | None"


@pytest.mark.parametrize(
    ("model", "output"),
    [
        (deepseek, Goal),
        (deepseek, PromptedOutput(Goal)),
        (gpt, Goal),
        (gpt, NativeOutput(Goal)),
        (gpt, PromptedOutput(Goal)),
    ],
)
def test_structured_output_is_a_valid_instance_in_the_users_words(
    server: ModelServer, model: Callable[[openai.AsyncOpenAI], OpenAIChatModel], output: OutputSpec[Goal]
) -> None:
    async def ask(client: openai.AsyncOpenAI) -> Goal:
        return (await Agent(model(client), output_type=output, retries=0).run("I want to lead a team")).output

    assert with_client(server, ask) == Goal(
        title="I want to lead a tea", kind="career", weight=0.01, steps=["I want to lead a team"], parent=None
    )


def test_a_forced_tool_is_called_whatever_the_words(http: httpx2.Client) -> None:
    def forced(choice: Any, *tools: str) -> set[str]:
        return called(chat(http, user("Hello"), tools=tools, tool_choice=choice, thinking={"type": "disabled"}))

    assert forced(named("list_capabilities"), *AGENT_TOOLS) == {"list_capabilities"}
    assert forced("required", "get_user_profile") == {"get_user_profile"}


def test_deepseeks_paths_without_a_version_work_as_well(http: httpx2.Client, server: ModelServer) -> None:
    body = {"model": "deepseek-v4-pro", "messages": [user("Hello")]}

    assert said(http.post("/chat/completions", json=body).json()).startswith("Hello!")
    assert len(http.post("/embeddings", json={"model": "text-embedding-3-small", "input": "x"}).json()["data"]) == 1
    assert http.get("/v1/models").json()["data"][0]["id"] == "deepseek-flash"
    assert http.get("/healthz").json() == {"status": "ok"}
    assert [request.path for request in server.requests] == ["/chat/completions", "/embeddings", "/v1/models"]


# --- what the providers refuse ------------------------------------------------------------------------------------

QUIET = {"thinking": {"type": "disabled"}}


def named(function: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": function}}


@pytest.mark.parametrize(
    ("more", "status", "why"),
    [
        ({"tool_choice": "required"}, 400, "Thinking mode does not support this tool_choice"),
        ({"tool_choice": named("get_user_profile")}, 400, "Thinking mode does not support this tool_choice"),
        (
            {"tool_choice": "required", "thinking": {"type": "enabled"}},
            400,
            "Thinking mode does not support this tool_choice",
        ),
        (
            {"tool_choice": "required", "reasoning_effort": "none"},
            400,
            "Thinking mode does not support this tool_choice",
        ),
        (
            {"tool_choice": named("delete_user"), **QUIET},
            400,
            "Tool choice 'delete_user' not found in 'tools' parameter.",
        ),
        ({"tool_choice": "required", "tools": [], **QUIET}, 400, "When using `tool_choice`, `tools` must be set."),
        ({"tool_choice": 42, **QUIET}, 400, "Invalid value: 42 is no `tool_choice`."),
        ({"model": "gpt-5-mini", **QUIET}, 400, "Unrecognized request argument supplied: thinking"),
        (
            {"tools": [{"type": "function", "function": {"name": "publish_card", "strict": True}}], **QUIET},
            400,
            "Strict mode is a beta feature",
        ),
        ({"model": "deepseek-v5"}, 400, "Model Not Exist"),
        ({"model": "text-embedding-3-small"}, 404, "The model `text-embedding-3-small` does not exist"),
        ({"model": "gpt-of-tomorrow"}, 404, "The model `gpt-of-tomorrow` does not exist"),
        ({"model": None}, 404, "The model `None` does not exist"),
    ],
)
def test_a_request_that_a_provider_refuses_is_refused_and_uses_up_no_script(
    http: httpx2.Client, server: ModelServer, more: dict[str, Any], status: int, why: str
) -> None:
    server.script(Reply("Never said."))
    tools = [tool("get_user_profile")]
    body = {"model": "deepseek-flash", "messages": [user("Hello")], "tools": tools, **more}

    response = http.post("/v1/chat/completions", json=body)

    assert response.status_code == status
    assert response.json()["error"]["message"].startswith(why)
    assert set(response.json()["error"]) == {"message", "type", "param", "code"}
    assert said(chat(http, user("?"))) == "Never said."


@pytest.mark.parametrize("more", [{}, {"tool_choice": "auto"}, {"tool_choice": "none"}, {"tool_choice": None}])
def test_a_model_that_thinks_answers_where_no_tool_is_forced(http: httpx2.Client, more: dict[str, Any]) -> None:
    assert said(chat(http, user("Hello"), tools=["get_user_profile"], **more)).startswith("Hello!")


def test_an_embedding_by_a_model_that_is_none_is_refused(http: httpx2.Client) -> None:
    assert http.post("/v1/embeddings", json={"model": "text-embedding-4", "input": "x"}).status_code == 404
    assert http.post("/v1/embeddings", json={"model": "deepseek-flash", "input": "x"}).status_code == 400


@pytest.mark.parametrize("stream", [False, True])
def test_a_retired_name_is_served_under_that_of_its_successor(http: httpx2.Client, stream: bool) -> None:
    body = {"model": "deepseek-v4-flash", "messages": [user("Hello")], "stream": stream}

    answer = http.post("/v1/chat/completions", json=body).text

    assert set(re.findall(r'"model":"([^"]*)"', answer)) == {"deepseek-flash"}
    assert [each["id"] for each in http.get("/v1/models").json()["data"]] == [
        *("deepseek-flash", "deepseek-v4-pro", "gpt-5-mini", "text-embedding-3-small")
    ]


def test_a_test_may_have_models_answer_under_any_name_until_the_reset(http: httpx2.Client, server: ModelServer) -> None:
    server.served_as = {"deepseek-flash": "something-new"}
    assert chat(http, user("Hello"))["model"] == "something-new"
    server.reset()
    assert chat(http, user("Hello"))["model"] == "deepseek-flash"


# --- embeddings ---------------------------------------------------------------------------------------------------


def embed(server: ModelServer, *texts: str, **more: Any) -> list[list[float]]:
    async def ask(client: openai.AsyncOpenAI) -> list[list[float]]:
        answer = await client.embeddings.create(model="text-embedding-3-small", input=list(texts), **more)
        return [item.embedding for item in answer.data]

    return with_client(server, ask)


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_embeddings_are_unit_vectors_the_same_in_both_encodings(http: httpx2.Client, server: ModelServer) -> None:
    [base64] = embed(server, "Lead a team")
    [floats] = embed(server, "Lead a team", encoding_format="float")

    assert len(base64) == DIMENSIONS
    assert math.isclose(cosine(floats, floats), 1)
    assert base64 == pytest.approx(floats, abs=1e-6)
    assert '"base64"' in server.requests[0].body.decode()
    answer = http.post(
        "/v1/embeddings", json={"model": "text-embedding-3-small", "input": "Lead a team", "encoding_format": "base64"}
    )
    assert len(answer.json()["data"][0]["embedding"]) == DIMENSIONS * 4 * 4 // 3  # four bytes a number


def test_the_cosine_follows_the_words_that_two_texts_share(server: ModelServer) -> None:
    goal, same, inflected, half, other = embed(
        server,
        "Wants to lead engineering teams",
        "wants: to lead ENGINEERING teams!",
        "What team will I be leading?",
        "Lead singer of a band",
        "Bakes bread on Sundays",
    )

    assert cosine(goal, same) == pytest.approx(1)
    assert cosine(goal, inflected) > cosine(goal, half) + 0.1 > cosine(goal, other) + 0.2
    assert abs(cosine(goal, other)) < 0.15


def test_letters_count_a_little_and_the_length_of_two_texts_makes_them_no_more_alike(server: ModelServer) -> None:
    right, misspelt, another = embed(server, "negotiation", "negotation", "gardening")
    # Two long texts without a word or three letters in common.
    digits, letters = embed(server, " ".join(map(str, range(1_000, 1_300))), " ".join(map(pair_of_letters, range(600))))

    assert cosine(right, misspelt) > cosine(right, another) + 0.15
    assert abs(cosine(digits, letters)) < 0.1


def pair_of_letters(number: int) -> str:
    return chr(0x3B1 + number // 24) + chr(0x430 + number % 24)


def test_a_text_of_nothing_but_stop_words_still_has_a_direction(server: ModelServer) -> None:
    assert [round(cosine(vector, vector), 5) for vector in embed(server, "who am I", " ", "日本語")] == [1, 1, 1]


def test_an_empty_input_is_refused_as_the_provider_does(server: ModelServer) -> None:
    with pytest.raises(openai.BadRequestError, match="none of them empty"):
        embed(server, "")


# --- recording and counting ---------------------------------------------------------------------------------------


def test_each_request_is_recorded_as_it_came_in(http: httpx2.Client, server: ModelServer) -> None:
    raw = b'{"model": "deepseek-flash",  "messages": [{"role": "user", "content": "Hello"}]}'
    http.post("/v1/chat/completions", content=raw, headers={"authorization": "Bearer sk-1"})
    http.post("/v1/embeddings", content=b"no json")

    first, second = server.requests
    assert (first.order, first.method, first.path, first.authorization) == (
        1,
        "POST",
        "/v1/chat/completions",
        "Bearer sk-1",
    )
    assert (first.body, first.json) == (raw, json.loads(raw))
    assert (second.order, second.body, second.json, second.authorization) == (2, b"no json", None, None)
    assert [request["body"] for request in http.get("/_control/requests").json()] == [raw.decode(), "no json"]
    http.delete("/_control/requests")
    assert server.requests == []


def test_waiting_for_an_answer_that_is_not_held_ends(server: ModelServer) -> None:
    with pytest.raises(TimeoutError, match=r"0 of 1 answers are held"):
        server.wait_until_held(timeout=0.01)


def test_cached_tokens_are_the_prefix_that_an_earlier_request_had_in_steps_of_64(http: httpx2.Client) -> None:
    def usage(*messages: dict[str, Any], model: str = "deepseek-flash") -> dict[str, Any]:
        body = {"model": model, "messages": messages, "tools": [tool("get_user_profile")]}
        return http.post("/v1/chat/completions", json=body).json()["usage"]

    compact = {"ensure_ascii": False, "separators": (",", ":")}
    opening = user("é" * 1_000)
    shared = json.dumps([tool("get_user_profile")], **compact) + json.dumps([opening], **compact)[:-1]
    longer = json.dumps([tool("get_user_profile")], **compact) + json.dumps([opening, user("x" * 500)], **compact)

    assert usage(opening)["prompt_tokens_details"] == {"cached_tokens": 0}
    second = usage(opening, user("x" * 500))
    cached = len(shared) // 256 * 64
    assert cached > 0
    assert second["prompt_tokens"] == len(longer) // 4
    assert second["prompt_tokens_details"] == {"cached_tokens": cached}
    assert (second["prompt_cache_hit_tokens"], second["prompt_cache_miss_tokens"]) == (
        cached,
        len(longer) // 4 - cached,
    )
    assert usage(user("other"), opening)["prompt_tokens_details"] == {"cached_tokens": 0}
    assert usage(opening, model="deepseek-v4-pro")["prompt_tokens_details"] == {"cached_tokens": 0}


def test_completion_tokens_count_four_characters_and_a_script_may_say_otherwise(
    http: httpx2.Client, server: ModelServer
) -> None:
    server.script(Reply("x" * 40), Reply(""), Reply("x", usage={"completion_tokens": 9_000}))

    usages = [chat(http, user("?"))["usage"] for _ in range(3)]

    assert [usage["completion_tokens"] for usage in usages] == [10, 1, 9_000]
    assert usages[0]["total_tokens"] == usages[0]["prompt_tokens"] + 10


# --- scripts ------------------------------------------------------------------------------------------------------


def test_a_script_answers_in_its_order_and_then_the_scripts_do(http: httpx2.Client, server: ModelServer) -> None:
    server.script(
        Reply("First.", finish_reason="stop"),
        Reply(
            "Looking…",
            tool_calls=[{"name": "a", "arguments": {"b": 1}}, {"name": "c", "arguments": "{", "id": "call_x"}],
        ),
    )

    first, second, third = (chat(http, user("Hello")) for _ in range(3))

    assert said(first) == "First."
    message = second["choices"][0]["message"]
    assert message["content"] == "Looking…"
    assert [call["function"] for call in message["tool_calls"]] == [
        {"name": "a", "arguments": '{"b":1}'},
        {"name": "c", "arguments": "{"},
    ]
    assert message["tool_calls"][1]["id"] == "call_x"
    assert second["choices"][0]["finish_reason"] == "tool_calls"
    assert said(third).startswith("Hello!")


def test_everything_can_be_told_over_http(http: httpx2.Client, server: ModelServer) -> None:
    steps = [{"text": ["a", "b"]}, {"tool_calls": [{"name": "t", "arguments": {}}]}, {"fault": 503, "retry_after": 2}]
    assert http.post("/_control/script", json={"steps": steps}).status_code == 200
    assert said(chat(http, user("?"))) == "ab"
    assert called(chat(http, user("?"))) == {"t"}
    assert status_of(http) == 503

    http.post("/_control/fault", json={"fault": 500})
    http.post("/_control/embeddings_fault", json=429)
    assert [status_of(http), status_of(http), status_of(http, "embeddings")] == [500, 500, 429]
    http.post("/_control/fault", content="null")
    http.post("/_control/embeddings_fault", content="null")
    assert [status_of(http), status_of(http, "embeddings")] == [200, 200]

    http.post("/_control/script", json={"steps": steps})
    http.post("/_control/reset")
    assert server.requests == []
    assert status_of(http) == 200


def status_of(http: httpx2.Client, route: str = "chat/completions") -> int:
    model = "text-embedding-3-small" if route == "embeddings" else "deepseek-flash"
    return http.post(f"/v1/{route}", json={"model": model, "messages": [user("?")], "input": "?"}).status_code


@pytest.mark.parametrize(
    "script", [b"[]", b"no json", b'{"steps": [{"fault": "unheard_of"}]}', b'{"steps": [{"txt": "typo"}]}']
)
def test_a_script_that_makes_no_sense_is_refused(http: httpx2.Client, script: bytes) -> None:
    response = http.post("/_control/script", content=script)

    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("body", [b"no json", b"[]", b"{}", b'{"messages": []}', b'{"messages": ["x"]}', b"\xff"])
def test_a_chat_request_that_makes_no_sense_is_refused_in_openais_shape(http: httpx2.Client, body: bytes) -> None:
    response = http.post("/v1/chat/completions", content=body)

    assert response.status_code == 400
    assert response.json()["error"]["message"] == "The body must be a JSON object with `messages`."
    assert http.post("/v1/nowhere").json()["error"]["code"] == "model_not_found"


# --- holding ------------------------------------------------------------------------------------------------------


class Wire:
    """One request on a socket of its own, and the bytes that come back."""

    def __init__(self, server: ModelServer, stream: bool = True) -> None:
        body = json.dumps({"model": "deepseek-flash", "messages": [user("Hello")], "stream": stream}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=5)
        self.socket.sendall(head.encode() + body)
        self.received = b""

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def until(self, end: bytes) -> bytes:
        while end not in self.received:
            piece = self.socket.recv(65_536)
            assert piece, f"The connection closed before {end!r}: {self.received!r}"
            self.received += piece
        return self.received

    def until_closed(self) -> bytes:
        while piece := self.socket.recv(65_536):
            self.received += piece
        return self.received

    def is_silent(self) -> bool:
        self.socket.setblocking(False)
        try:
            self.received += self.socket.recv(65_536)
        except BlockingIOError:
            return True
        finally:
            self.socket.settimeout(5)
        return False


END_OF_HTTP = b"0\r\n\r\n"


def test_an_answer_waits_after_its_chunks_for_the_release(server: ModelServer) -> None:
    server.script(Reply(["one", "two", "three"], hold_after=2))

    with Wire(server) as wire:
        server.wait_until_held()
        wire.until(b'"two"')
        assert wire.is_silent()
        assert b"three" not in wire.received
        assert server.release() == 1
        assert b"three" in wire.until(END_OF_HTTP)


@pytest.mark.parametrize(("reply", "head"), [(Reply("x", hold_after=0), b"200 OK"), (Reply("x", fault="slow"), b"")])
@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_waits_before_its_body_or_before_its_first_byte(
    server: ModelServer, reply: Reply, head: bytes, stream: bool
) -> None:
    server.script(reply)

    with Wire(server, stream) as wire:
        server.wait_until_held()
        wire.until(head)
        assert b"assistant" not in wire.received
        assert (wire.received == b"") is (head == b"")
        assert wire.is_silent()
        server.release()
        wire.until(END_OF_HTTP)


def test_several_answers_are_held_and_released_together(server: ModelServer) -> None:
    server.fault = Reply("x", hold_after=99)

    with Wire(server) as one, Wire(server) as two:
        server.wait_until_held(count=2)
        server.reset()
        one.until(END_OF_HTTP)
        two.until(END_OF_HTTP)
    assert server.release() == 0


def test_a_held_answer_ends_when_its_client_goes_away(server: ModelServer) -> None:
    server.fault = Reply("x", hold_after=1)

    with Wire(server):
        server.wait_until_held()
    server.wait_until_none_held()


def test_a_server_that_stops_drops_what_it_holds_and_starts_again_on_its_port() -> None:
    server = ModelServer()
    with server:
        server.script(Reply(["so far", "never"], hold_after=1))
        wire = Wire(server)
        server.wait_until_held()
        address = server.base_url
    with wire:
        assert END_OF_HTTP not in wire.until_closed()
        assert b"so far" in wire.received
    with server:
        assert server.base_url == address
        assert embed(server, "works")


# --- faults -------------------------------------------------------------------------------------------------------

STATUSES: dict[Fault, type[openai.APIStatusError]] = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    402: openai.APIStatusError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    408: openai.APIStatusError,
    409: openai.ConflictError,
    422: openai.UnprocessableEntityError,
    429: openai.RateLimitError,
    500: openai.InternalServerError,
    502: openai.InternalServerError,
    503: openai.InternalServerError,
    504: openai.InternalServerError,
}


@pytest.mark.parametrize(("fault", "error"), STATUSES.items())
def test_an_error_status_reaches_the_client_as_its_own_error(
    server: ModelServer, fault: Fault, error: type[openai.APIStatusError]
) -> None:
    server.script(Reply(fault=fault, retry_after=1.5))

    with pytest.raises(error, match=f"The scripted fault {fault}") as raised:
        with_client(server, say_hello)
    assert raised.value.response.headers["retry-after"] == "1.5"


async def say_hello(client: openai.AsyncOpenAI) -> str:
    stream = await client.chat.completions.create(
        model="deepseek-flash", messages=[{"role": "user", "content": "Hello"}], stream=True
    )
    return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


@pytest.mark.parametrize(
    ("fault", "content_type", "body"),
    [
        ("refuse_body", "text/event-stream; charset=utf-8", ""),
        ("html", "text/html; charset=utf-8", "<!doctype html>"),
        ("bad_json", "application/json", '{"id": "chatcmpl-0", "choices": ['),
    ],
)
def test_a_body_that_is_no_answer_comes_with_200(
    http: httpx2.Client, server: ModelServer, fault: Fault, content_type: str, body: str
) -> None:
    server.script(Reply(fault=fault))

    response = http.post(
        "/v1/chat/completions", json={"model": "deepseek-flash", "messages": [user("?")], "stream": True}
    )

    assert (response.status_code, response.headers["content-type"]) == (200, content_type)
    assert response.text.startswith(body)
    assert bool(response.text) is bool(body)


def test_a_reset_is_one_at_the_socket(server: ModelServer) -> None:
    server.script(Reply(fault="reset"))

    with Wire(server) as wire, pytest.raises(ConnectionResetError):
        wire.until_closed()


THREE = ["one", "two", "three"]


def broken_off(server: ModelServer, fault: Fault, stream: bool = True) -> bytes:
    """All that comes back when the fault strikes after the second of three chunks."""
    server.script(Reply(THREE, fault=fault, fault_after=2))
    with Wire(server, stream) as wire:
        if fault == "stall":
            server.wait_until_held()
            wire.until(b'"two"' if stream else b'"model"')
            assert wire.is_silent()
            server.release()
        return wire.until_closed()


@pytest.mark.parametrize("fault", ["cut", "cut_mid_line", "stall"])
def test_a_cut_stream_closes_without_the_end_of_the_response(server: ModelServer, fault: Fault) -> None:
    received = broken_off(server, fault)

    assert b'"two"' in received
    assert b'"three"' not in received
    assert END_OF_HTTP not in received
    assert received.endswith(b"\n\n\r\n") is (fault != "cut_mid_line")
    server.script(Reply(THREE, fault="cut"))
    with pytest.raises((openai.APIConnectionError, httpx2.RemoteProtocolError)):
        with_client(server, say_hello)


@pytest.mark.parametrize("fault", ["cut", "cut_mid_line", "stall"])
def test_an_answer_that_is_not_streamed_is_cut_in_its_middle(server: ModelServer, fault: Fault) -> None:
    received = broken_off(server, fault, stream=False)

    assert b'"id":"chatcmpl-' in received
    assert b'"usage"' not in received
    assert END_OF_HTTP not in received


@pytest.mark.parametrize("stream", [True, False])
def test_a_reset_in_the_middle_is_one_at_the_socket_after_what_was_said(server: ModelServer, stream: bool) -> None:
    server.script(Reply(THREE, fault="reset_midway", fault_after=2))

    with Wire(server, stream) as wire:
        wire.until(b'"two"' if stream else b'"model"')
        with pytest.raises(ConnectionResetError):
            wire.until_closed()


@pytest.mark.parametrize("stream", [True, False])
def test_half_a_character_ends_a_response_that_is_whole_as_http(
    http: httpx2.Client, server: ModelServer, stream: bool
) -> None:
    server.script(Reply(THREE, fault="half_utf8"))

    response = http.post(
        "/v1/chat/completions", json={"model": "deepseek-flash", "messages": [user("?")], "stream": stream}
    )

    assert response.content.endswith(b"\xc3")
    with pytest.raises(UnicodeDecodeError):
        response.content.decode()


def test_an_error_in_the_stream_is_read_as_one_after_what_was_said(server: ModelServer) -> None:
    assert lines(server, Reply(THREE, fault="error_in_stream", fault_after=2))[1:] == [
        "one",
        "two",
        {
            "message": "The model failed in the middle of its answer.",
            "type": "server_error",
            "param": None,
            "code": None,
        },
    ]
    server.script(Reply(THREE, fault="error_in_stream"))
    with pytest.raises(openai.APIError, match="in the middle of its answer"):
        with_client(server, say_hello)


def lines(server: ModelServer, reply: Reply) -> list[Any]:
    """Each data line of a streamed answer: its content, finish reason or error, or itself where it is no JSON."""
    server.script(reply)
    with Wire(server) as wire:
        payload = wire.until(END_OF_HTTP).decode()
    return [line_of(data) for data in re.findall(r"^data: (.*)$", payload, re.M)]


def line_of(data: str) -> Any:
    try:
        parsed = json.loads(data)
    except json.JSONDecodeError:
        return data
    if not isinstance(parsed, dict):
        return parsed
    if "error" in parsed:
        return parsed["error"]
    if not parsed["choices"]:
        return []
    choice = parsed["choices"][0]
    return choice["finish_reason"] or choice["delta"].get("content")


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (None, ["", "one", "two", "three", "stop", "[DONE]"]),
        ("bad_json_line", ["", "one", '{"choices": [{"index": 0, "delta"', "two", "three", "stop", "[DONE]"]),
        ("other_shape", ["", "one", 42, "two", "three", "stop", "[DONE]"]),
        ("empty_choices", ["", "one", [], "two", "three", "stop", "[DONE]"]),
        ("no_finish", ["", "one"]),
        ("no_done", ["", "one", "two", "three", "stop"]),
        ("length", ["", "one", "length", "[DONE]"]),
        ("content_filter", ["", "one", "content_filter", "[DONE]"]),
    ],
)
def test_a_malformed_stream_has_these_lines(server: ModelServer, fault: Fault | None, expected: list[Any]) -> None:
    assert lines(server, Reply(THREE, fault=fault)) == expected


def test_other_lines_stand_around_every_event(server: ModelServer) -> None:
    server.script(Reply(THREE, fault="other_lines"))
    body = httpx2.post(
        f"{server.base_url}/chat/completions",
        json={"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hi"}], "stream": True},
    ).content
    assert body.count(OTHER_LINES + b"data: {") == len(["", *THREE, "stop"])


def test_a_huge_line_is_10_mb_long(server: ModelServer) -> None:
    server.script(Reply(THREE, fault="huge_line"))

    assert len(with_client(server, say_hello)) == len("onetwothree") + HUGE_LINE_BYTES


@pytest.mark.parametrize(
    "fault", ["error_in_stream", "bad_json_line", "other_shape", "empty_choices", "no_finish", "length"]
)
def test_faults_of_a_stream_have_their_like_in_a_whole_answer(
    http: httpx2.Client, server: ModelServer, fault: Fault
) -> None:
    server.script(Reply(THREE, fault=fault))

    response = http.post("/v1/chat/completions", json={"model": "deepseek-flash", "messages": [user("?")]})

    if fault == "bad_json_line":
        with pytest.raises(json.JSONDecodeError):
            response.json()
    elif fault == "error_in_stream":
        assert response.json()["error"]["type"] == "server_error"
    elif fault == "other_shape":
        assert response.json() == 42
    elif fault == "empty_choices":
        assert response.json()["choices"] == []
    elif fault == "no_finish":
        assert response.json()["choices"][0]["finish_reason"] is None
    else:
        [choice] = response.json()["choices"]
        assert (choice["message"]["content"], choice["finish_reason"]) == ("one", "length")


def test_swapped_indices_still_give_each_call_its_arguments(server: ModelServer) -> None:
    server.script(
        Reply(
            tool_calls=[{"name": "add", "arguments": {"a": 1}}, {"name": "add", "arguments": {"a": 20}}],
            fault="swapped_indices",
        ),
        Reply("Done."),
    )
    added: list[int] = []

    async def ask(client: openai.AsyncOpenAI) -> str:
        agent = Agent(deepseek(client))

        @agent.tool_plain(sequential=True)
        def add(a: int) -> None:
            added.append(a)

        async with agent.run_stream("Add") as run:
            return await run.get_output()

    assert with_client(server, ask) == "Done."
    assert sorted(added) == [1, 20]
    server.script(
        Reply(tool_calls=[{"name": "a", "arguments": {}}, {"name": "b", "arguments": {}}], fault="swapped_indices")
    )
    with Wire(server) as wire:
        assert re.findall(rb'"tool_calls":\[\{"index":(\d),"id"', wire.until(END_OF_HTTP)) == [b"1", b"0"]


@pytest.mark.parametrize(
    ("fault", "name", "arguments"),
    [("unknown_tool", "no_such_tool", "{}"), ("bad_tool_arguments", "get_user_profile", '{"query": "unclo')],
)
def test_a_model_calls_what_it_must_not(
    http: httpx2.Client, server: ModelServer, fault: Fault, name: str, arguments: str
) -> None:
    server.script(Reply(fault=fault))

    [choice] = chat(http, user("Hello"), tools=AGENT_TOOLS)["choices"]

    assert [call["function"] for call in choice["message"]["tool_calls"]] == [{"name": name, "arguments": arguments}]
    assert choice["finish_reason"] == "tool_calls"


def test_a_provider_that_is_down_fails_every_request_and_uses_up_no_script(
    http: httpx2.Client, server: ModelServer
) -> None:
    server.script(Reply("Back."))
    server.fault, server.embeddings_fault = Reply(fault=503), 429

    assert [status_of(http), status_of(http), status_of(http, "embeddings")] == [503, 503, 429]
    server.fault = server.embeddings_fault = None
    assert said(chat(http, user("?"))) == "Back."
    assert status_of(http, "embeddings") == 200


def test_a_fault_without_words_breaks_what_the_scripts_would_have_said(server: ModelServer) -> None:
    assert lines(server, Reply(fault="no_done"))[:3] == ["", "Hello! I am ", "your career agent. "]


# --- as a program -------------------------------------------------------------------------------------------------


def started_program(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "infra.local.model_server", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.thorough
def test_a_port_that_is_taken_is_said_in_one_sentence(server: ModelServer) -> None:
    with started_program("--port", str(server.port)) as program:
        output, errors = program.communicate(timeout=10)

    assert (program.returncode, output) == (1, "")
    assert re.fullmatch(rf"The scripted model server cannot listen on port {server.port}: .*in use.*\n", errors)


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_program_quietly_even_while_it_holds_an_answer(number: signal.Signals) -> None:
    with started_program("--port", "0", "--chunk-delay", "0") as program:
        assert program.stdout is not None
        address = program.stdout.readline().split()[-1]
        port = httpx2.URL(address).port
        assert port is not None
        with httpx2.Client(base_url=address.removesuffix("/v1")) as http:
            http.post("/_control/script", json={"steps": [{"text": "never", "hold_after": 0}]})
        with Wire(ModelServer(port=port)) as wire:
            wire.until(b"200 OK")
            program.send_signal(number)
            output, errors = program.communicate(timeout=10)

    assert (program.returncode, output, errors) == (0, "", "")
