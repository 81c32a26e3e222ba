"""Invalid requests get one clear error in the common format, and change nothing."""

import io
import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from operator import getitem
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from openapi_spec_validator import validate
from pymongo import MongoClient

from functions.chat.app import create_app
from infra.local import model_wire
from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from tests.api_document import api_document
from tests.counts import everyday
from tests.servers import SECRET, USER, ChatServer, Client, system_clock, token, user_says

NOW = system_clock()
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def signed(secret: Any = SECRET, algorithm: str = "HS256", **claims: Any) -> str:
    given = {"user_id": USER, "exp": system_clock() + 300, **claims}
    return jwt.encode({name: value for name, value in given.items() if value is not None}, secret, algorithm)


FORGED_TOKENS = {
    "no algorithm": lambda: signed("", "none"),
    "another algorithm": lambda: signed(RSA_KEY, "RS256"),
    "expired": lambda: signed(exp=system_clock() - 1),
    "far future": lambda: signed(exp=system_clock() + 3_600),
    "wrong key": lambda: signed("another-secret-of-at-least-32-bytes-length"),
    "no user": lambda: signed(user_id=None),
    "a user that is no string": lambda: signed(user_id=7),
    "an empty user": lambda: signed(user_id=""),
    "no expiry": lambda: signed(exp=None),
    "our own": lambda: signed(iss="qwestly-agent"),
    "ten kilobytes": lambda: signed(name="x" * 10_000),
    "nonsense": lambda: "a.b.c",
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", FORGED_TOKENS)
def test_a_token_not_from_the_candidate_app_is_rejected(chat: ChatServer, kind: str) -> None:
    headers = {"Authorization": f"Bearer {FORGED_TOKENS[kind]()}"}
    refused = httpx2.post(f"{chat.url}/api/chat", headers=headers, json={"message": "Hi"})
    assert _code(refused) == (401, "unauthorized")


def test_a_request_without_a_token_is_rejected(chat: ChatServer) -> None:
    assert _code(httpx2.get(f"{chat.url}/api/conversations")) == (401, "unauthorized")


def test_a_token_in_the_wrong_scheme_is_rejected(chat: ChatServer) -> None:
    headers = {"Authorization": f"Basic {token()}"}
    assert _code(httpx2.get(f"{chat.url}/api/conversations", headers=headers)) == (401, "unauthorized")


BAD_BODIES = {
    "not JSON": (b"{", 422, "invalid"),
    "not UTF-8": (b'{"message": "\xff"}', 422, "invalid"),
    "not an object": (b"[1]", 422, "invalid"),
    "empty": (b"", 422, "invalid"),
    "deeply nested": (b"[" * 100_000, 422, "invalid"),
    "no message": (b"{}", 422, "invalid"),
    "an empty message": (b'{"message": "  "}', 422, "invalid"),
    "a message that is an operator": (b'{"message": {"$ne": null}}', 422, "invalid"),
    "a message that is too long": (b'{"message": "%s"}' % (b"x" * 20_001), 413, "too_long"),
    "a conversation id with an operator": (b'{"message": "Hi", "conversation_id": {"$ne": ""}}', 422, "invalid"),
    "a conversation id with a path": (b'{"message": "Hi", "conversation_id": "a.$b"}', 422, "invalid"),
    "an unknown conversation": (b'{"message": "Hi", "conversation_id": "nobodys"}', 404, "not_found"),
    "no messages": (b'{"id": "c", "messages": []}', 422, "invalid"),
    "messages that are no messages": (b'{"id": "c", "messages": [7]}', 422, "invalid"),
    "nothing new said": (b'{"id": "c", "messages": [{"role": "assistant", "parts": []}]}', 422, "invalid"),
    "no id": (b'{"messages": [{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}]}', 422, "invalid"),
    "a file": (
        b'{"id": "c", "messages": [{"role": "user", "parts": [{"type": "file", "url": "x", "mediaType": "y"}]}]}',
        422,
        "attachments_unsupported",
    ),
    "nothing to make again": (b'{"id": "c", "messages": [], "trigger": "regenerate-message"}', 404, "not_found"),
}


@pytest.mark.parametrize("kind", BAD_BODIES)
def test_an_invalid_body_gets_one_clear_error(client: Client, model: ModelServer, kind: str) -> None:
    body, status, code = BAD_BODIES[kind]
    assert _code(client.request("POST", "/api/chat", content=body)) == (status, code)
    assert client.get("/api/conversations")["items"] == []
    assert model.requests == []


FIRST_REQUESTS = {
    "no route at all": ("GET", "/api/nothing", 404, "not_found"),
    "a trailing slash": ("GET", "/api/memories/", 404, "not_found"),
    "another method": ("DELETE", "/api/briefings", 405, "invalid"),
    "nothing valid": ("PUT", "/api/autonomy", 422, "invalid"),
    "something unknown": ("GET", "/api/memories/mem_1", 404, "not_found"),
}


@pytest.mark.parametrize("kind", everyday(2, FIRST_REQUESTS))
def test_the_first_request_of_a_process_is_rejected_like_any_other(client: Client, chat: ChatServer, kind: str) -> None:
    """The first request adds most of the routes."""
    method, path, status, code = FIRST_REQUESTS[kind]
    with ChatServer(chat.settings) as server:
        first = replace(client, url=server.url)
        assert _code(first.request(method, path)) == (status, code)
        assert _code(first.request(method, path)) == (status, code)
        assert first.get("/api/conversations")["items"] == []


ROUTES = [
    (method, path) for path, methods in api_document()["paths"].items() for method in (name.upper() for name in methods)
]


@pytest.mark.thorough
@pytest.mark.parametrize("chunked", [False, True], ids=["with its length", "chunked"])
@pytest.mark.parametrize(("method", "path"), ROUTES, ids=[" ".join(route) for route in ROUTES])
def test_a_body_of_six_megabytes_is_too_large_for_every_route(
    client: Client, method: str, path: str, chunked: bool
) -> None:
    body = b'{"message": "%s", "level": "L0"}' % (b"x" * (6 * 1024 * 1024))
    content = (body[begin : begin + 65_536] for begin in range(0, len(body), 65_536)) if chunked else body
    assert _code(client.request(method, path, content=content)) == (413, "too_long")


def test_a_body_that_is_not_utf8_is_invalid(client: Client) -> None:
    headers = {**client.headers(), "Content-Type": "application/json"}
    refused = client.http.put(f"{client.url}/api/autonomy", headers=headers, content=b'{"level": "\xff"}')
    assert _code(refused) == (422, "invalid")


def test_another_users_conversation_is_not_found(client: Client, chat: ChatServer) -> None:
    mine = client.say("My secret plans").conversation_id
    with Client(chat.url, f"{client.user_id}-stranger") as stranger:
        said = {"message": "Hi", "conversation_id": mine}
        assert _code(stranger.request("POST", "/api/chat", json=said)) == (404, "not_found")
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/stop")):
            assert _code(stranger.request(method, f"/api/conversations/{mine}{path}")) == (404, "not_found")
        assert stranger.get("/api/conversations")["items"] == []
    assert len(client.get(f"/api/conversations/{mine}")["messages"]) == 2


def test_the_same_client_id_from_two_users_means_two_conversations(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    client.say_ai_sdk("shared", user_says("I am Ada."))
    with Client(chat.url, "auth0|stranger") as stranger:
        stranger.say_ai_sdk("shared", user_says("Who am I?"))
    assert "Ada" not in model.requests[-1].body.decode()


def test_an_ai_sdk_client_cannot_continue_another_users_conversation(client: Client, chat: ChatServer) -> None:
    client.say_ai_sdk("shared", user_says("I am Ada."))
    answered = {"id": "a1", "role": "assistant", "parts": [{"type": "text", "text": "Hello Ada."}]}
    greeting = {"id": "a0", "role": "assistant", "parts": [{"type": "text", "text": "Hi, how can I help?"}]}
    history = [user_says("I am Ada."), answered, user_says("Who am I?", "m2")]
    with Client(chat.url, f"{client.user_id}-stranger") as stranger:
        refused = stranger.request("POST", "/api/chat", json={"id": "shared", "messages": history})
        assert _code(refused) == (404, "not_found")
        assert stranger.get("/api/conversations")["items"] == []
        stranger.say_ai_sdk("greeted", greeting, user_says("Hello"))
        stranger.say_ai_sdk("refused-before", user_says("Hello"), user_says("Hello again", "m2"))
        assert len(stranger.get("/api/conversations")["items"]) == 2
    client.say_ai_sdk("shared", *history)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/nothing", (404, "not_found")),
        ("GET", "/api/conversations/", (404, "not_found")),
        ("POST", "/api/chat/", (404, "not_found")),
        ("GET", "/api/chat", (405, "invalid")),
        ("GET", "/api/conversations?limit=0", (422, "invalid")),
        ("GET", "/api/conversations?limt=3", (422, "invalid")),
        ("GET", "/api/approvals?limit=3&State=all", (422, "invalid")),
        ("GET", "/api/settings?as=ui", (422, "invalid")),
        ("POST", "/api/brake?really=no", (422, "invalid")),
        ("POST", "/api/chat?as=ui", (422, "invalid")),
        ("GET", "/api/memories?%00=x", (422, "invalid")),
        ("GET", "/api/conversations?after=now", (422, "invalid")),
    ],
)
def test_every_error_has_the_same_format(client: Client, method: str, path: str, expected: tuple[int, str]) -> None:
    assert _code(client.request(method, path)) == expected


def test_the_request_id_is_that_of_the_function_url(chat: ChatServer) -> None:
    headers = {"x-amzn-request-context": '{"requestId": "abc-123"}'}
    refused = httpx2.get(f"{chat.url}/api/conversations", headers=headers)
    assert refused.json()["error"]["request_id"] == "abc-123"


def test_a_provider_failure_is_one_error_event_and_the_turn_is_stored(client: Client, model: ModelServer) -> None:
    model.script(Reply(text=["Half of ", "it."], fault="cut", fault_after=1))
    answer = client.say("Tell me everything")
    assert answer.names == ["conversation", "text_delta", "error"]
    assert answer.last.data["code"] == "model_unavailable"
    failed = client.get(f"/api/conversations/{answer.conversation_id}")["messages"][-1]
    assert (failed["content"], failed["status"]) == ("Half of ", "failed")
    assert failed["error"]["code"] == "model_unavailable"
    assert client.say("Again", answer.conversation_id).last.name == "done"


def test_an_ai_sdk_error_is_our_sentence_and_not_the_providers_text(client: Client, model: ModelServer) -> None:
    model.script(Reply(fault=401))
    events = client.say_ai_sdk("chat-1", user_says("Hi"))
    assert [event.name for event in events][-2:] == ["error", "[DONE]"]
    assert events[-2].data["errorText"].startswith("We’re fixing a problem on our side")


@pytest.mark.thorough
@pytest.mark.parametrize("halves", [["Half \ud83d", " only"], ["\ud83d", "\ude00 ok"], ["\ud83d\ude00 ok"]])
def test_a_lone_surrogate_from_the_model_breaks_no_stream_and_loses_no_answer(
    client: Client, model: ModelServer, halves: list[str]
) -> None:
    with surrogates(model):
        model.script(Reply(text=halves), Reply(text=halves), Reply(text="Fine."))
        plain = client.say("Hello")
        assert plain.last.name == "done"
        assert plain.last.data["content"].encode()
        assert client.say_ai_sdk("chat-1", user_says("Hello"))[-2].name == "finish"
        kept = client.get(f"/api/conversations/{plain.conversation_id}")["messages"][-1]
        assert (kept["status"], kept["content"]) == ("complete", plain.last.data["content"])
        assert client.say("Again", plain.conversation_id).last.data["content"] == "Fine."


def test_a_lone_surrogate_in_a_tool_call_ends_the_stream_but_not_the_conversation(
    client: Client, model: ModelServer
) -> None:
    with surrogates(model):
        model.script(*[Reply(tool_calls=[{"name": "no\ud800tool", "arguments": {}}])] * 2)
        answer = client.say("Hello")
        assert answer.last.name in {"done", "error"}
        model.script()
        assert client.say("Again", answer.conversation_id).last.name == "done"


def test_an_answer_whose_metadata_cannot_be_encoded_is_stored_by_its_text(client: Client, model: ModelServer) -> None:
    with surrogates(model):
        model.script(Reply(text="Fine words.", finish_reason="st\ud800p"))
        answer = client.say("Hello")
    assert answer.last.name == "done"
    assert client.get(f"/api/conversations/{answer.conversation_id}")["messages"][-1]["content"] == "Fine words."
    assert client.say("Again", answer.conversation_id).last.name == "done"
    assert "Fine words." in model.requests[-1].body.decode()


@contextmanager
def surrogates(model: ModelServer) -> Iterator[None]:
    """Let the model server write lone surrogates as JSON escapes, like a gateway that cuts UTF-16."""
    line = model_wire.line
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_wire, "line", lambda data: f"data: {json.dumps(data)}\n\n".encode())
        yield
    assert model_wire.line is line


def test_an_unreadable_memory_does_not_fail_the_turn(client: Client, chat: ChatServer, model: ModelServer) -> None:
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        memories = mongo[chat.settings.mongodb_database]["user_memories"]
        broken = {"user_id": client.user_id, "status": "active", "salience": 2.0}
        memories.insert_many(
            [broken, {**broken, "_id": f"m-{client.user_id}", "type": "habit", "content": "Likes trains."}]
        )
    assert client.say("Hello").last.name == "done"
    assert "Likes trains." in model.requests[-1].body.decode()


@pytest.mark.thorough
def test_log_lines_contain_no_user_content(
    chat: ChatServer, client: Client, model: ModelServer, capfd: pytest.CaptureFixture[str]
) -> None:
    words = "my burnout in spring"
    with log_of(chat) as log:
        query: ToolCall = {"name": "query_user_knowledge", "arguments": json.dumps({"question": words})}
        model.script(Reply(tool_calls=[query]), *[Reply(fault=500)] * 2)
        assert client.say(words).last.name == "error"
        model.script(Reply(text=words, fault="cut"))
        client.say(words)
        client.request("POST", "/api/chat", content=json.dumps({"message": {"is": words}}).encode())
    written = log.getvalue() + "".join(capfd.readouterr())
    assert "turn failed" in written
    assert "turn ended" in written
    for line in log.getvalue().splitlines():
        assert json.loads(line)["run_id"]
    for secret in (words, SECRET, "Bearer", "eyJ"):
        assert secret not in written


@contextmanager
def log_of(chat: ChatServer) -> Iterator[io.StringIO]:
    """Return every line that the chat handler logs at the most verbose level."""
    written, logger = io.StringIO(), logging.getLogger("qwestly-agent")
    handler = logging.StreamHandler(written)
    handler.setFormatter(chat.services.logger.registered_formatter)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield written
    logger.setLevel(level)
    logger.removeHandler(handler)


def _code(response: httpx2.Response) -> tuple[int, str]:
    error = response.json()["error"]
    assert set(error) == {"code", "message", "request_id"}
    assert error["message"]
    return response.status_code, error["code"]


@pytest.mark.sentinel
@pytest.mark.thorough
def test_the_openapi_document_is_valid_and_its_references_resolve(chat: ChatServer) -> None:
    text = httpx2.get(f"{chat.url}/api/openapi.json").text
    document = json.loads(text)
    validate(document)
    references = set(re.findall(r'"\$ref": ?"#/([^"]*)"', text))
    assert len(references) == len(set(re.findall(r'"\$ref": ?"([^"]*)"', text))) > 20
    for reference in references:
        reduce(getitem, reference.split("/"), document)


def times_in_numbers(schema: Any, name: str = "") -> Iterator[str]:
    """Return the numbers in an OpenAPI schema whose names look like timestamps."""
    if isinstance(schema, list):
        for each in schema:
            yield from times_in_numbers(each, name)
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "number" and re.search(r"(^|_)(at|since|until|next|after|before|used|seen|as_of)$", name):
        yield name
    for key, each in schema.get("properties", {}).items():
        yield from times_in_numbers(each, key)
    for key in ("anyOf", "items", "additionalProperties"):
        yield from times_in_numbers(schema.get(key), name)


def test_every_timestamp_of_the_api_is_iso_8601() -> None:
    document = create_app().openapi()
    found = [each for schema in document["components"]["schemas"].values() for each in times_in_numbers(schema)]
    for methods in document["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", []):
                found += times_in_numbers(parameter["schema"], parameter["name"])
    assert found == []


def test_the_api_page_documents_every_route_and_loads_nothing(
    chat: ChatServer,
) -> None:
    document = httpx2.get(f"{chat.url}/api/openapi.json").json()
    page = httpx2.get(f"{chat.url}/api/docs").text
    parts = dict(re.findall(r'<h3 id="([^"]+)">(.*?)(?=<h3|<h2|</html)', page, re.DOTALL))
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            told = parts[operation["operationId"]]
            assert f"{method.upper()} {path}" in told
            for parameter in operation.get("parameters", []):
                assert f"<code>{parameter['name']}</code>" in told
            for reference in re.findall(r"#/components/schemas/(\w+)", json.dumps(operation)):
                assert f'href="#shape-{reference}"' in told
            assert all(f"<td>{status}</td>" in told for status in operation["responses"] if status[0] == "2")
    for name, schema in document["components"]["schemas"].items():
        assert all(f"<code>{field}</code>" in parts[f"shape-{name}"] for field in schema.get("properties", {}))
    assert "<td>integer, at least 1, at most 100, default <code>30</code></td>" in parts["list_conversations"]
    assert "<td>429</td><td><code>over_budget</code></td>" in page
    links = set(re.findall(r'(?:href|src)="([^"]*)"', page))
    assert links - {"openapi.json"} <= {f"#{each}" for each in re.findall(r' id="([^"]+)"', page)}
    assert not re.search(r"<script|<link|url\(|@import", page)
