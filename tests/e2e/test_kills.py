"""The state of a turn after one of its processes died."""

import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import pytest

from tests.e2e.processes import chat_function, model_server
from tests.servers import ChatServer, Client, Event, free_port, mongo_server, resumed, settings_for, until

pytestmark = pytest.mark.thorough

LEASE_ENDS_WITHIN_SECONDS = 10


@dataclass
class Parts:
    """The chat function and the processes it depends on, each of which can be killed and restarted in place."""

    processes: ExitStack
    mongodb_uri: str
    database: subprocess.Popen[bytes]
    model_port: int = field(default_factory=free_port)
    chat_port: int = field(default_factory=free_port)

    def start_chat(self) -> None:
        self.chat = self.processes.enter_context(chat_function(self.chat_port, self.mongodb_uri, self.model_port))

    def start_model(self) -> None:
        self.model = self.processes.enter_context(model_server(self.model_port))

    def hold_half_an_answer(self) -> None:
        self._control("script", {"steps": [{"text": ["Half of ", "it."], "hold_after": 1}]})

    def release(self) -> None:
        until(lambda: self._control("release", {})["released"])

    def _control(self, what: str, body: dict[str, Any]) -> Any:
        return httpx2.post(f"http://127.0.0.1:{self.model_port}/_control/{what}", json=body).raise_for_status().json()


@pytest.fixture(scope="module")
def parts() -> Iterator[Parts]:
    with ExitStack() as processes:
        parts = Parts(processes, *processes.enter_context(mongo_server()))
        parts.start_model()
        parts.start_chat()
        yield parts


@pytest.fixture
def client(parts: Parts) -> Iterator[Client]:
    with Client(f"http://127.0.0.1:{parts.chat_port}") as user:
        yield user


def begin(events: Iterator[Event]) -> str:
    """Return the conversation once half of its answer has arrived; the rest is held."""
    conversation_id = next(events).data["conversation_id"]
    assert next(events).data["content"] == "Half of "
    return conversation_id


def until_silent(events: Iterator[Event]) -> list[Event]:
    """Return the events until the stream ends. Fails if the stream is only kept alive."""
    rest = []
    for event in events:
        assert event.name != "comment", f"nothing but keep-alives after {rest}"
        rest.append(event)
    return rest


def said_in(client: Client, conversation_id: str) -> list[tuple[str, str, str]]:
    messages = client.get(f"/api/conversations/{conversation_id}")["messages"]
    return [(message["role"], message["content"], message["status"]) for message in messages]


@pytest.mark.sentinel
def test_a_dead_model_server_ends_the_stream_with_one_error(parts: Parts, client: Client) -> None:
    parts.hold_half_an_answer()
    with client.open({"message": "Tell me"}) as events:
        conversation_id = begin(events)
        parts.model.end(signal.SIGKILL)
        [last] = until_silent(events)
    assert (last.name, last.data["code"]) == ("error", "model_unavailable")
    assert said_in(client, conversation_id) == [("user", "Tell me", "complete"), ("assistant", "Half of ", "failed")]

    unreachable = client.say("Still there?", conversation_id)
    assert unreachable.names == ["conversation", "error"]
    parts.start_model()
    assert client.say("Hello", conversation_id).last.name == "done"
    assert len(said_in(client, conversation_id)) == 6


@pytest.mark.sentinel
def test_a_killed_chat_function_loses_no_message_and_the_next_turn_works(parts: Parts, client: Client) -> None:
    parts.hold_half_an_answer()
    with client.open({"message": "Tell me"}) as events:
        conversation_id = begin(events)
        parts.chat.end(signal.SIGKILL)
        with pytest.raises(httpx2.RemoteProtocolError):
            list(events)
    again = {"message": "Go on", "conversation_id": conversation_id}
    with ChatServer(settings_for(parts.mongodb_uri, "http://127.0.0.1:1/v1")) as other, Client(other.url) as there:
        busy = there.request("POST", "/api/chat", json=again)
        assert (busy.status_code, busy.json()["error"]["code"]) == (409, "conversation_busy")
        assert int(busy.headers["Retry-After"]) >= 1
    parts.start_chat()
    asked, *_ = said_in(client, conversation_id)
    assert asked[:2] == ("user", "Tell me")

    answer = until(lambda: when_free(client, again), LEASE_ENDS_WITHIN_SECONDS)
    assert "event: done" in answer.text
    assert [each[:2] for each in said_in(client, conversation_id) if each[0] == "user"] == [
        ("user", "Tell me"),
        ("user", "Go on"),
    ]


@pytest.mark.nightly
def test_a_killed_functions_partial_answer_can_be_resumed_and_continued(parts: Parts, client: Client) -> None:
    parts.hold_half_an_answer()
    half = [("user", "Tell me", "complete"), ("assistant", "Half of ", "running")]
    with ChatServer(settings_for(parts.mongodb_uri, "http://127.0.0.1:1/v1")) as other:
        there = replace(client, url=other.url)
        with client.open({"message": "Tell me"}) as events:
            conversation_id = begin(events)
            until(lambda: said_in(there, conversation_id) == half)
            with resumed(there, conversation_id) as late:
                assert begin(late) == conversation_id
                parts.chat.end(signal.SIGKILL)
                [last] = until_silent(late)
        assert (last.name, last.data["code"]) == ("error", "unavailable")
        assert said_in(there, conversation_id) == [half[0], ("assistant", "Half of ", "interrupted")]
    parts.start_chat()
    assert client.say("Go on", conversation_id).last.name == "done"
    assert said_in(client, conversation_id)[:3] == [
        half[0],
        ("assistant", "Half of ", "interrupted"),
        ("user", "Go on", "complete"),
    ]


def when_free(client: Client, body: dict[str, Any]) -> httpx2.Response | None:
    """Return the response, or None while the killed process's turn still locks the conversation."""
    answer = client.request("POST", "/api/chat", json=body)
    if answer.status_code == 200:
        return answer
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conversation_busy")
    return None


@pytest.mark.nightly
def test_a_terminated_chat_function_ends_its_streams_and_keeps_partial_answers(parts: Parts, client: Client) -> None:
    parts.hold_half_an_answer()
    with client.open({"message": "Tell me"}) as events:
        conversation_id = begin(events)
        assert parts.chat.end(signal.SIGTERM) in (0, -signal.SIGTERM)
        [last] = until_silent(events)
    assert last.name == "error"
    assert "Traceback" not in parts.chat.said
    parts.start_chat()
    assert said_in(client, conversation_id) == [("user", "Tell me", "complete"), ("assistant", "Half of ", "failed")]
    assert client.say("Go on", conversation_id).last.name == "done"


@pytest.mark.nightly
def test_a_dead_database_is_reported_without_blocking_requests(parts: Parts, client: Client) -> None:
    """This test is the last here: the parts cannot be used after it."""
    parts.hold_half_an_answer()
    with client.open({"message": "Tell me"}) as events, ThreadPoolExecutor() as pool:
        begin(events)
        parts.database.kill()
        parts.database.wait()
        refused = [
            pool.submit(client.request, "GET", "/api/conversations"),
            pool.submit(client.request, "POST", "/api/chat", json={"message": "Hello"}),
        ]
        parts.release()
        rest = [event for event in until_silent(events) if event.name != "text_delta"]
        assert [(event.name, event.data["code"]) for event in rest] == [("error", "unavailable")]
        for answer in refused:
            response = answer.result()
            assert (response.status_code, response.json()["error"]["code"]) == (503, "unavailable")
