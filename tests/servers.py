"""Real servers at their wires, for the tests: the database, the chat handler under uvicorn, and a client of it."""

import json
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

import httpx2
import uvicorn
from pydantic_ai import Tool
from pymongo import MongoClient

from functions.chat.app import create_app
from infra.local.candidate_app import CandidateAppServer
from infra.local.environment import DEMO_DATABASE
from infra.local.ports import free_port, listens
from infra.local.tokens import mint
from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.design import Designs, LibraryAgent
from qwestly_agent.agents.make import make_agent
from qwestly_agent.base.clock import Clock, system_clock
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap_chat
from qwestly_agent.chat.services import ChatServices
from qwestly_agent.chat.stream import KEEP_ALIVE_SECONDS
from qwestly_agent.interviews import service as interviews
from qwestly_agent.llm.models import make_models

interviews.PATIENCE_SECONDS, interviews.READ_SECONDS = 60.0, 60.0
"""No test but the one of a late orchestrator depends on how fast it answers."""
API_SECRET = "the-second-secret-which-signs-towards-the-candidate-app"
SECRET = "a-shared-secret-of-the-tests-with-32-bytes-or-more"
USER = "auth0|tester"


class FakeClock:
    """Stands still until told otherwise."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


def wait_for_port(
    port: int, server: subprocess.Popen[bytes] | threading.Thread | None = None, seconds: float = 60
) -> None:
    until = time.monotonic() + seconds
    while not listens(port):
        if server and has_ended(server):
            raise ConnectionError(f"Nobody listens at port {port}: the server ended at its start. Its output says why.")
        if time.monotonic() > until:
            raise ConnectionError(f"Nobody listens at port {port}.")
        time.sleep(0.01)


def has_ended(server: subprocess.Popen[bytes] | threading.Thread) -> bool:
    return not server.is_alive() if isinstance(server, threading.Thread) else server.poll() is not None


@contextmanager
def mongo_server(data: str = "memory") -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A MongoDB-wire server, in a process of its own so that a test can end it; `data` is a folder, or `memory`."""
    port = free_port()
    command = [sys.executable, "-m", "infra.local.database", "--port", str(port), "--data", data]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_port(port, process)
        yield f"mongodb://127.0.0.1:{port}", process
    finally:
        process.kill()
        process.wait()


@contextmanager
def candidate_app_server(mongodb_uri: str) -> Iterator[CandidateAppServer]:
    """The stub of the candidate app, over a database of its own."""
    name = f"qwestly_test_{uuid.uuid4().hex[:12]}"
    with CandidateAppServer(mongodb_uri, name, API_SECRET, FakeClock()) as server, MongoClient(mongodb_uri) as client:
        yield server
        client.drop_database(name)


def settings_for(mongodb_uri: str, model_url: str, database: str = DEMO_DATABASE, **changes: Any) -> Settings:
    given: dict[str, Any] = {
        "mongodb_uri": mongodb_uri,
        "mongodb_database": database,
        "mongodb_connections": 20,
        "qwestly_agent_shared_secret": SECRET,
        "model_base_url": model_url,
        "embeddings_base_url": model_url,
        "qwestly_candidate_api_secret": API_SECRET,
        "candidate_api_url": "http://127.0.0.1:9/api/agent/v1",  # nobody there, unless a test says who
        "log_level": "CRITICAL",
        "messages_a_minute": 100_000,  # tests talk faster than people
    }
    return Settings(**{**given, **changes})


@dataclass
class ChatServer:
    """The chat handler under uvicorn in a thread, over real sockets."""

    settings: Settings
    clock: Clock = system_clock
    keep_alive_seconds: float = KEEP_ALIVE_SECONDS
    tools: Sequence[Tool[AgentDeps]] | None = None
    """Replaces the default design's tools."""
    port: int = field(default_factory=free_port)
    services: ChatServices = field(init=False)

    def __enter__(self) -> "ChatServer":
        async def make_services() -> ChatServices:
            self.services = await bootstrap_chat(self.settings, clock=self.clock)
            if self.tools is not None:
                model = make_models(self.settings, self.services.http)["fast"]
                agent = make_agent("default", model, instructions="Help.", tools=self.tools)
                self.services = replace(
                    self.services, designs=Designs("default", {"default": {"chat": LibraryAgent(agent, "test")}})
                )
            return self.services

        app = create_app(make_services, self.keep_alive_seconds)
        config = uvicorn.Config(app, port=self.port, log_level="error", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        wait_for_port(self.port, self._thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def token(user_id: str = USER, secret: str = SECRET, clock: Clock = system_clock) -> str:
    return mint(user_id, secret, clock())


@dataclass(frozen=True)
class Event:
    """A server-sent event as a client reads it; the AI SDK's have no name but a type in their data."""

    name: str
    data: Any


def events_of(lines: Iterator[str]) -> Iterator[Event]:
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line == "data: [DONE]":
            yield Event("[DONE]", None)
        elif line.startswith("data: "):
            data = json.loads(line.removeprefix("data: "))
            no_epoch_seconds(data, name)
            yield Event(name or data["type"], data)
        elif line.startswith(":"):
            yield Event("comment", line)


def seconds(moment: str) -> float:
    """Seconds since the epoch of a moment as clients read it."""
    assert moment.endswith("Z")
    return datetime.fromisoformat(moment).timestamp()


def no_epoch_seconds(value: Any, path: str = "") -> None:
    """Raise `AssertionError` for a number that is a moment of these years: clients read ISO 8601."""
    match value:
        case dict():
            for name, each in value.items():
                no_epoch_seconds(each, f"{path}.{name}")
        case list():
            for each in value:
                no_epoch_seconds(each, f"{path}[]")
        case int() | float():
            assert not 1.6e9 < value < 2.2e9, f"{path} is in seconds since the epoch: {value}"


@dataclass
class Client:
    """A user of the chat handler."""

    url: str
    user_id: str = USER
    clock: Clock = system_clock
    http: httpx2.Client = field(default_factory=lambda: httpx2.Client(timeout=20, verify=False))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {token(self.user_id, clock=self.clock)}"}

    def request(self, method: str, path: str, **more: Any) -> httpx2.Response:
        answer = self.http.request(method, f"{self.url}{path}", headers=self.headers(), **more)
        if answer.headers.get("content-type") == "application/json" and answer.content:
            no_epoch_seconds(answer.json(), f"{method} {path}: ")
        return answer

    def get(self, path: str) -> Any:
        return self.request("GET", path).raise_for_status().json()

    @contextmanager
    def open(self, body: dict[str, Any]) -> Iterator[Iterator[Event]]:
        """A turn whose events are read one by one."""
        with self.http.stream("POST", f"{self.url}/api/chat", headers=self.headers(), json=body) as response:
            assert response.status_code == 200, response.read()
            yield events_of(response.iter_lines())

    def post(self, body: dict[str, Any]) -> list[Event]:
        with self.open(body) as events:
            return list(events)

    def say(self, message: str, conversation_id: str | None = None, **more: Any) -> "Answer":
        """A whole plain turn."""
        body = {"message": message, **({"conversation_id": conversation_id} if conversation_id else {}), **more}
        return Answer(self.post(body))

    def say_ai_sdk(self, conversation_id: str, *messages: dict[str, Any], **more: Any) -> list[Event]:
        """A whole turn as `useChat` posts it."""
        return self.post({"id": conversation_id, "messages": list(messages), "trigger": "submit-message", **more})


@dataclass(frozen=True)
class Answer:
    events: list[Event]

    @property
    def conversation_id(self) -> str:
        return self.events[0].data["conversation_id"]

    @property
    def id(self) -> str:
        return f"msg_{self.events[0].data['run_id']}"

    @property
    def names(self) -> list[str]:
        return [event.name for event in self.events]

    @property
    def last(self) -> Event:
        return self.events[-1]

    @property
    def text(self) -> str:
        return "".join(event.data["content"] for event in self.events if event.name == "text_delta")


@contextmanager
def resumed(client: Client, conversation_id: str, protocol: str = "plain") -> Iterator[Iterator[Event]]:
    """The answer under way, told again."""
    path = f"{client.url}/api/chat/{conversation_id}/stream?as={protocol}"
    with client.http.stream("GET", path, headers=client.headers()) as response:
        assert response.status_code == 200, response.read()
        yield events_of(response.iter_lines())


def user_says(text: str, message_id: str = "m1") -> dict[str, Any]:
    """A message as `useChat` holds it."""
    return {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}


def until(condition: Callable[[], Any], seconds: float = 30) -> Any:
    """Wait until the condition is true; returns its value. For what another process does, not for time to pass."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)
    return answer
