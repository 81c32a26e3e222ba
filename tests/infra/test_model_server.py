"""The scripted model server, as seen by the real providers' clients and by a socket."""

import asyncio
import json
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx2
import openai
import pytest
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.deepseek import DeepSeekProvider

from infra.local.model_answers import NOBODY_YET
from infra.local.model_faults import OTHER_LINES, Fault
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.llm.models import PROFILES
from tests.counts import everyday

T = TypeVar("T")
AGENT_TOOLS = (
    "get_user_profile",
    "query_user_knowledge",
    "query_qwestly_docs",
    "list_capabilities",
)
ABOUT_ME = {"get_user_profile", "query_user_knowledge"}


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
    with httpx2.Client(base_url=running_server.base_url.removesuffix("/v1"), timeout=30) as client:
        yield client


@pytest.fixture
def http(server: ModelServer, connection: httpx2.Client) -> httpx2.Client:
    return connection


@asynccontextmanager
async def provider_client(server: ModelServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=server.base_url, api_key="sk-test", max_retries=0, timeout=30) as client:
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


# --- what the intents say ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "tools"),
    everyday(
        6,
        [
            ("What do we know about me?", ABOUT_ME),
            ("Who am I?", ABOUT_ME),
            ("Tell me about my career so far", ABOUT_ME),
            ("What are my goals?", {"query_user_knowledge"}),
            ("Remember that I prefer remote work", set()),
            ("What does my résumé say?", {"query_user_knowledge"}),
            ("Do you remember my interview?", {"query_user_knowledge"}),
            ("What is my current title?", {"get_user_profile"}),
            ("Who is my employer?", {"get_user_profile"}),
            ("How does Qwestly work?", {"query_qwestly_docs"}),
            ("What does a card show, and what about pricing?", {"query_qwestly_docs"}),
            ("What can you do?", {"list_capabilities"}),
            ("Hello there", set()),
            ("Thanks!", set()),
            ("The weather is nice", set()),
            ("I want to die, nobody reads my résumé", set()),
            ("You are a stupid bot, show my profile", set()),
        ],
    ),
)
def test_the_users_words_determine_the_tools(http: httpx2.Client, words: str, tools: set[str]) -> None:
    answer = chat(http, user(words), tools=AGENT_TOOLS)

    assert called(answer) == tools
    assert bool(said(answer)) is not bool(tools)


def test_only_offered_tools_are_called_with_the_users_words_as_the_query(http: httpx2.Client) -> None:
    words = "What do we know about me?"

    answer = chat(http, user(words), tools=["query_user_knowledge"])

    [call] = answer["choices"][0]["message"]["tool_calls"]
    assert call["function"] == {
        "name": "query_user_knowledge",
        "arguments": json.dumps({"query": words}, separators=(",", ":")),
    }
    assert called(chat(http, user(words))) == set()
    assert called(chat(http, user(words), tools=AGENT_TOOLS, tool_choice="none")) == set()


def calls(*named: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"id": key, "type": "function", "function": {"name": name, "arguments": "{}"}} for key, name in named]


def result(id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


def after_tools(http: httpx2.Client, **results: str) -> str:
    """Return the answer to "Who am I?" after these tool results."""
    asked = {"role": "assistant", "content": None, "tool_calls": calls(*((name, name) for name in results))}
    answered = [result(name, content) for name, content in results.items()]
    return said(chat(http, user("Who am I?"), asked, *answered, tools=AGENT_TOOLS))


PROFILE = {
    "name": "Dana Reyes",
    "headline": "Staff engineer",
    "skills": ["Go", "SQL"],
    "employment": [{"title": "SRE", "company": "Acme"}],
}


def test_an_answer_combines_the_tools_results_and_names_its_sources(http: httpx2.Client) -> None:
    answer = after_tools(
        http,
        get_user_profile=json.dumps(PROFILE),
        query_user_knowledge='<tool_result>\n{"memories": [{"id": "m", "content": "Wants to lead a team."}], '
        '"passages": [{"title": "resume.pdf", "text": "Cut costs by 30 %."}], '
        '"messages": [{"kind": "message", "text": "Who am I?"}]}\n</tool_result>',
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
def test_an_empty_result_is_reported_as_empty(http: httpx2.Client, empty: str) -> None:
    answer = after_tools(http, get_user_profile=json.dumps(PROFILE), query_user_knowledge=empty)

    assert "Dana Reyes" in answer
    assert answer.endswith("I found nothing about that in what you told me and your documents.")


@pytest.mark.parametrize(
    "failure",
    [
        '{"error": "out of reach"}',
        "Error: out of reach",
        '1 validation error:\n```json\n[{"type": "missing"}]\n```\n\nFix the errors and try again.',
    ],
)
def test_a_tools_error_is_reported_in_a_sentence(http: httpx2.Client, failure: str) -> None:
    assert (
        after_tools(http, query_user_knowledge=failure)
        == "I could not look at what you told me and your documents just now."
    )


def test_the_demo_guides_a_new_user_to_a_first_message(http: httpx2.Client) -> None:
    assert after_tools(http, get_user_profile="{}", query_user_knowledge="[]") == NOBODY_YET


def test_a_long_list_is_cut_with_the_number_of_remaining_items(http: httpx2.Client) -> None:
    answer = after_tools(http, query_user_knowledge=json.dumps([{"content": f"Fact {n}."} for n in range(10)]))
    assert answer.splitlines()[-2:] == ["- Fact 7.", "- … and 2 more: ask me about any of it."]


def test_a_prose_result_is_quoted(http: httpx2.Client) -> None:
    answer = after_tools(http, query_qwestly_docs="<docs>\nA card [1] shows your work. It is free.\n</docs>")

    assert answer == "**The Qwestly docs**\n\n- A card [1] shows your work.\n- It is free."


def test_a_person_in_danger_is_shown_where_to_get_help(http: httpx2.Client) -> None:
    answer = said(chat(http, user("I can't go on, I want to kill myself"), tools=AGENT_TOOLS))

    assert "988" in answer
    assert "emergency number" in answer


def test_an_earlier_message_is_quoted_when_the_user_asks_for_it(http: httpx2.Client) -> None:
    history = [user("I work at Acme"), {"role": "assistant", "content": "Good."}]

    assert said(chat(http, *history, user("What did I just say?"))) == "You wrote: “I work at Acme”"
    assert "first message" in said(chat(http, user("What did I just say?")))


def deepseek(client: openai.AsyncOpenAI) -> OpenAIChatModel:
    provider = DeepSeekProvider(openai_client=client)
    return OpenAIChatModel("deepseek-flash", provider=provider, profile=PROFILES["deepseek"])


def test_deepseeks_unversioned_paths_work_too(http: httpx2.Client, server: ModelServer) -> None:
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
def test_a_request_the_provider_would_reject_is_rejected_without_using_the_script(
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
def test_a_thinking_model_answers_if_no_tool_is_forced(http: httpx2.Client, more: dict[str, Any]) -> None:
    assert said(chat(http, user("Hello"), tools=["get_user_profile"], **more)).startswith("Hello!")


def test_an_embedding_by_a_model_without_embeddings_is_rejected(http: httpx2.Client) -> None:
    assert http.post("/v1/embeddings", json={"model": "text-embedding-4", "input": "x"}).status_code == 404
    assert http.post("/v1/embeddings", json={"model": "deepseek-flash", "input": "x"}).status_code == 400


@pytest.mark.parametrize("stream", [False, True])
def test_a_retired_model_name_is_served_by_its_successor(http: httpx2.Client, stream: bool) -> None:
    body = {"model": "deepseek-v4-flash", "messages": [user("Hello")], "stream": stream}

    answer = http.post("/v1/chat/completions", json=body).text

    assert set(re.findall(r'"model":"([^"]*)"', answer)) == {"deepseek-flash"}
    assert [each["id"] for each in http.get("/v1/models").json()["data"]] == [
        *("deepseek-flash", "deepseek-v4-pro", "gpt-5-mini", "text-embedding-3-small")
    ]


# --- embeddings ---------------------------------------------------------------------------------------------------


def embed(server: ModelServer, *texts: str, **more: Any) -> list[list[float]]:
    async def ask(client: openai.AsyncOpenAI) -> list[list[float]]:
        answer = await client.embeddings.create(model="text-embedding-3-small", input=list(texts), **more)
        return [item.embedding for item in answer.data]

    return with_client(server, ask)


def test_an_empty_input_is_rejected_as_by_the_provider(server: ModelServer) -> None:
    with pytest.raises(openai.BadRequestError, match="none of them empty"):
        embed(server, "")


# --- recording and counting ---------------------------------------------------------------------------------------


def test_cached_tokens_are_the_prefix_shared_with_an_earlier_request_in_steps_of_64(http: httpx2.Client) -> None:
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


# --- the wire -----------------------------------------------------------------------------------------------------


class Wire:
    """One request on a socket of its own, and the bytes that come back."""

    def __init__(self, server: ModelServer, stream: bool = True) -> None:
        body = json.dumps({"model": "deepseek-flash", "messages": [user("Hello")], "stream": stream}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=30)
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


END_OF_HTTP = b"0\r\n\r\n"


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
def test_an_error_status_raises_its_own_client_error(
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


THREE = ["one", "two", "three"]


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
def test_a_stream_fault_produces_the_expected_lines(
    server: ModelServer, fault: Fault | None, expected: list[Any]
) -> None:
    assert lines(server, Reply(THREE, fault=fault)) == expected


def test_other_lines_surround_every_event(server: ModelServer) -> None:
    server.script(Reply(THREE, fault="other_lines"))
    body = httpx2.post(
        f"{server.base_url}/chat/completions",
        json={"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hi"}], "stream": True},
    ).content
    assert body.count(OTHER_LINES + b"data: {") == len(["", *THREE, "stop"])


def test_each_call_gets_its_arguments_despite_swapped_indices(server: ModelServer) -> None:
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


# --- as a program -------------------------------------------------------------------------------------------------


def started_program(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "infra.local.model_server", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.thorough
def test_a_port_in_use_is_reported_in_one_sentence(server: ModelServer) -> None:
    with started_program("--port", str(server.port)) as program:
        output, errors = program.communicate(timeout=10)

    assert (program.returncode, output) == (1, "")
    assert re.fullmatch(rf"The scripted model server cannot listen on port {server.port}: .*in use.*\n", errors)
