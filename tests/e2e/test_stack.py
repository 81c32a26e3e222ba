"""`make run` over HTTP: one origin, the demo question, every event as it happens, and a clean end."""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from infra.local.environment import DEMO_USER, ROOT
from tests.e2e.processes import Stack, alive, descendants, kill, running_stack, tool
from tests.servers import Client, events_of, until

pytestmark = pytest.mark.thorough

DEMO_QUESTION = "What do we know about me?"
LABELS = ["Looking up your profile…", "Looking at what I know of you…"]


@pytest.fixture
def client(stack: Stack) -> Iterator[Client]:
    stack.model("reset", now=True)
    with Client(stack.url, DEMO_USER) as user:
        yield user


@pytest.mark.nightly
def test_one_origin_serves_the_demo_user(stack: Stack) -> None:
    assert "Wants to lead a product team" in str(stack.found)


def test_one_origin_serves_page_widget_health_status_and_token(client: Client) -> None:
    page = client.http.get(f"{client.url}/")
    assert page.headers["content-type"].startswith("text/html")
    assert "<qwestly-chat" in page.text
    widget = client.http.get(f"{client.url}/widget/qwestly.js")
    assert "javascript" in widget.headers["content-type"]
    assert widget.text == (ROOT / "widget" / "dist" / "qwestly.js").read_text()
    assert client.http.get(f"{client.url}/page.js").status_code == 200
    assert client.http.get(f"{client.url}/healthz").json() == {"ok": True}
    status = client.http.get(f"{client.url}/local/status").json()
    assert (status["user"], status["database"], status["model"]) == (DEMO_USER, "qwestly_local", "scripted")
    minted = client.http.get(f"{client.url}/local/token").json()["token"]
    listed = client.http.get(f"{client.url}/api/conversations", headers={"Authorization": f"Bearer {minted}"})
    assert listed.status_code == 200
    document = client.http.get(f"{client.url}/api/openapi.json").json()
    assert "/api/chat" in document["paths"]
    assert "/api/chat" in client.http.get(f"{client.url}/api/docs").text


@pytest.mark.usefixtures("stack")
def test_a_running_stack_locks_its_data_folder() -> None:
    folder = os.open(ROOT / ".local", os.O_RDONLY)
    with pytest.raises(BlockingIOError):
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(folder)


def test_an_unknown_route_returns_the_standard_error_format(client: Client) -> None:
    for path in ("/api/nothing", "/api/conversations/nothing"):
        missing = client.request("GET", path)
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.sentinel
def test_the_demo_question_is_answered_from_three_tiers(client: Client) -> None:
    answer = client.say(DEMO_QUESTION)
    assert [event.data["label"] for event in answer.events if event.name == "tool_call"] == LABELS
    assert [event.data["ok"] for event in answer.events if event.name == "tool_result"] == [True] * 2
    assert answer.last.name == "done"
    assert answer.last.data["content"] == answer.text
    for quoted in (
        "Maya Okafor",  # the profile
        "Wants to lead a product team at a climate company",  # a memory
        "2,300 merchants",  # a document
    ):
        assert quoted in answer.text
    for secret in ("maya@example.com", "98000"):  # in the profile, but not for the model
        assert secret not in answer.text


def test_an_unknown_user_is_answered_too(stack: Stack) -> None:
    with Client(stack.url, "auth0|nobody-has-heard-of") as stranger:
        answer = stranger.say(DEMO_QUESTION)
        assert answer.last.name == "done"
        assert "Maya" not in answer.text


def test_questions_about_qwestly_are_answered_from_the_documentation(client: Client) -> None:
    answer = client.say("How do Qwestly Cards work?")
    assert [event.data["name"] for event in answer.events if event.name == "tool_call"] == ["query_qwestly_docs"]
    assert "card" in answer.text.lower()


def test_the_first_event_does_not_wait_for_the_model(stack: Stack, client: Client) -> None:
    stack.model("script", steps=[{"text": "Hello.", "hold_after": 0}])
    with client.open({"message": "Hello again"}) as events:
        assert next(events).name == "conversation"
        stack.release()
        assert list(events)[-1].name == "done"


def test_events_are_streamed_one_by_one_through_the_origin(stack: Stack, client: Client) -> None:
    stack.model("script", steps=[{"text": ["One, ", "two, ", "three."], "hold_after": 2}])
    with client.open({"message": "Count"}) as events:
        assert [next(events).name for _ in range(3)] == ["conversation", "text_delta", "text_delta"]
        stack.release()
        assert [event.name for event in events] == ["text_delta", "done"]


def test_curl_prints_each_event_as_it_arrives(stack: Stack, client: Client) -> None:
    stack.model("script", steps=[{"text": ["One, ", "two."], "hold_after": 1}])
    command = [
        tool("curl", "the README shows it"),
        "-N",
        "-s",
        "-m",
        "20",
        f"{stack.url}/api/chat",
        "-d",
        '{"message": "Count"}',
    ]
    headers = [word for name, value in client.headers().items() for word in ("-H", f"{name}: {value}")]
    with subprocess.Popen([*command, *headers], stdout=subprocess.PIPE, text=True) as curl:
        assert curl.stdout
        events = events_of(line.rstrip("\n") for line in curl.stdout)
        assert [next(events).name for _ in range(2)] == ["conversation", "text_delta"]
        stack.release()
        assert [event.name for event in events] == ["text_delta", "done"]
    assert curl.returncode == 0


def test_cors_responses_match_the_function_url(client: Client) -> None:
    asked = {"Origin": "http://localhost:3000", "Access-Control-Request-Method": "POST"}
    preflight = client.http.options(f"{client.url}/api/chat", headers=asked)
    assert preflight.status_code in (200, 204)
    assert preflight.headers["access-control-allow-origin"] == "http://localhost:3000"
    stranger = client.http.options(f"{client.url}/api/chat", headers={**asked, "Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in stranger.headers


@pytest.mark.nightly
def test_a_restart_keeps_the_conversations_and_ctrl_c_ends_the_stack(client: Client, stack_database: str) -> None:
    said = client.say("Remember this conversation").conversation_id
    with running_stack(stack_database) as again:
        with Client(again.url, DEMO_USER) as user:
            assert user.get(f"/api/conversations/{said}")["messages"][0]["content"] == "Remember this conversation"
            assert user.say(DEMO_QUESTION).text.count("Wants to lead a product team") == 1
        parts = descendants(again.process.popen.pid)
        assert len(parts) >= 4
        assert again.process.interrupt() == 0
        assert again.process.said.rstrip().endswith("Stopped.")
        assert "Traceback" not in again.process.said
        assert alive(parts) == []
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(f"{again.url}/healthz")


@pytest.mark.nightly
def test_restarts_during_a_card_lose_nothing_and_the_card_ends_once(stack_database: str) -> None:
    def draft(user: Client) -> Any:
        message = user.get(f"/api/conversations/{said}")["messages"][1]
        return message["drafts"][0]

    with running_stack(stack_database) as first, Client(first.url, DEMO_USER) as user:
        said = user.say("Draft my Qwestly Card").conversation_id
        until(lambda: draft(user)["label"].startswith("Drafting"))
        kill([first.process.popen.pid, *descendants(first.process.popen.pid)])
    with running_stack(stack_database) as second, Client(second.url, DEMO_USER) as user:
        until(lambda: draft(user)["status"] == "waiting", 60)
        kill([second.process.popen.pid, *descendants(second.process.popen.pid)])
    with running_stack(stack_database) as third, Client(third.url, DEMO_USER) as user:
        [asked] = [each for each in user.get("/api/approvals")["items"] if each["tool"] == "publish_card"]
        body = {"decision": "approve", "args_digest": asked["args_digest"]}
        decided = user.request("POST", f"/api/approvals/{asked['approval_id']}/decision", json=body)
        assert decided.status_code == 200, decided.text
        until(lambda: draft(user)["status"] == "published", 30)
        assert user.get(f"/api/approvals/{asked['approval_id']}")["status"] == "done"
        told = [each["type"] for each in user.get("/api/activity")["items"] if each["type"].startswith("draft.")]
        assert told[:3] == ["draft.published", "draft.waiting", "draft.started"]
