"""The two servers that are compared, each as its own process, with one database and one scripted model."""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from pymongo import MongoClient

from infra.local.environment import DEMO_DATABASE, DEMO_USER, Template
from qwestly_agent.base.settings import is_reference
from qwestly_agent.stores import candidate_data, memories
from tests.e2e.processes import CANDIDATE_API, ENVIRONMENT, START_SECONDS, model_server, python, started
from tests.servers import events_of, free_port, mongo_server, token, user_says, wait_for_port

CHUNKS = [f"word{number} and " for number in range(100)]
PLAIN, OURS = "plain", "ours"
USERS = [f"auth0|benchmark-{number}" for number in range(200)]
"""Many, so that none of them writes more than a real user could."""
PATIENCE_SECONDS = 120


@dataclass(frozen=True)
class Server:
    """One of the two servers, as a process."""

    url: str
    pid: int
    log: Callable[[], str] = str
    """The server's log so far."""

    def cpu_seconds(self) -> float:
        """User and system time of all its threads."""
        # The CPU clock of another process, numbered as by clock_getcpuclockid(3): /proc has only whole ticks of 10 ms.
        return time.clock_gettime((~self.pid << 3) | 2)

    def resident_mb(self) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        [kilobytes] = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
        return int(kilobytes) / 1024


@dataclass(frozen=True)
class Told:
    """A turn's times in seconds since the request."""

    first_text: float
    whole: float


class EndedOtherwise(Exception):
    """A turn's answer differs from the model's; `answer` is everything received."""

    def __init__(self, answer: str) -> None:
        super().__init__(answer[-500:])
        self.answer = answer


async def ask(http: httpx2.AsyncClient, server: Server, user_id: str, **more: str) -> Told:
    """Post a turn as `useChat` does, read it to the end, and compare the answer with the model's. Raises
    `EndedOtherwise`."""
    asked = [user_says("What do you know about me?")]
    body = {"id": uuid.uuid4().hex, "messages": asked, "trigger": "submit-message", **more}
    headers = {"Authorization": f"Bearer {token(user_id)}"}
    begun, first_text, lines = time.perf_counter(), 0.0, list[str]()
    async with http.stream("POST", f"{server.url}/api/chat", json=body, headers=headers) as response:
        async for line in response.aiter_lines():
            if not first_text and '"text-delta"' in line:
                first_text = time.perf_counter() - begun
            lines.append(line)
    whole = time.perf_counter() - begun
    events = list(events_of(iter(lines)))
    said = "".join(event.data["delta"] for event in events if event.name == "text-delta")
    if said != "".join(CHUNKS) or [event.name for event in events[-2:]] != ["finish", "[DONE]"]:
        raise EndedOtherwise("\n".join(lines))
    return Told(first_text, whole)


def client() -> httpx2.AsyncClient:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx2.AsyncClient(timeout=PATIENCE_SECONDS, limits=limits)


@dataclass(frozen=True)
class World:
    """The model and the database used by both servers."""

    mongodb_uri: str
    model_url: str

    def set_pace(self, chunk_delay: float, hold_after: int | None = None) -> None:
        """Set the seconds between the model's chunks from now on."""
        reply = {"text": CHUNKS, "chunk_delay": chunk_delay, "hold_after": hold_after}
        httpx2.post(f"{self.model_url}/_control/fault", json=reply).raise_for_status()

    def script(self, *replies: dict[str, Any]) -> None:
        """Set the model's answers to the next requests, one each."""
        httpx2.post(f"{self.model_url}/_control/script", json={"steps": replies}).raise_for_status()

    def prompts(self) -> list[str]:
        """The bodies of the chat requests sent to the model."""
        requests = httpx2.get(f"{self.model_url}/_control/requests").raise_for_status().json()
        return [each["body"] for each in requests if each["path"].endswith("/chat/completions")]

    def release(self) -> int:
        """Release the model's held answers; returns their number."""
        return httpx2.post(f"{self.model_url}/_control/release").raise_for_status().json()["released"]

    @property
    def environment(self) -> dict[str, str]:
        given = {k: v for k, v in Template.load().environment("ChatFunction").items() if not is_reference(v)}
        model = f"{self.model_url}/v1"
        addresses = {"MONGODB_URI": self.mongodb_uri, "MODEL_BASE_URL": model, "EMBEDDINGS_BASE_URL": model}
        return {**given, **CANDIDATE_API, **ENVIRONMENT, **addresses}


@contextmanager
def world(data: str = "memory") -> Iterator[World]:
    """`data` is the folder of the database, or `memory`."""
    with mongo_server(data) as (mongodb_uri, _):
        port = free_port()
        with model_server(port):
            world = World(mongodb_uri, f"http://127.0.0.1:{port}")
            _fill(world)
            yield world


def _fill(world: World) -> None:
    """Give each user the demo user's data that a prompt starts with."""
    with started(*python("infra.local.demo"), **world.environment) as filling:
        assert filling.wait() == 0, filling.said
    with MongoClient[dict[str, Any]](world.mongodb_uri) as mongo:
        database = mongo[DEMO_DATABASE]
        of_a_person = (
            candidate_data.CANDIDATES,
            candidate_data.EMPLOYMENT,
            candidate_data.PREFERENCES,
            candidate_data.LINKEDIN,
        )
        for name in (*of_a_person, memories.COLLECTION):
            found = list(database[name].find({"user_id": DEMO_USER}, {"content_embedding": 0}))
            copies = [{**each, "_id": f"{user}-{each['_id']}", "user_id": user} for user in USERS for each in found]
            database[name].insert_many(copies)


@contextmanager
def ours(world: World, **environment: str) -> Iterator[Server]:
    """The chat function as Lambda starts it."""
    port = free_port()
    given = {**world.environment, **environment, "AWS_LWA_PORT": str(port)}
    with started("./run.sh", folder="functions/chat", **given) as process:
        wait_for_port(port, process.popen, START_SECONDS)
        yield Server(f"http://127.0.0.1:{port}", process.popen.pid, lambda: process.said)


@contextmanager
def plain(world: World) -> Iterator[Server]:
    """The stack that a team would write first."""
    port = free_port()
    uvicorn = python("uvicorn", "--factory", "benchmarks.plain_stack:app", "--no-access-log", "--port", str(port))
    with started(*uvicorn, **world.environment) as process:
        wait_for_port(port, process.popen, START_SECONDS)
        yield Server(f"http://127.0.0.1:{port}", process.popen.pid)


@contextmanager
def both(world: World, **of_ours: str) -> Iterator[dict[str, Server]]:
    with ExitStack() as stack:
        yield {PLAIN: stack.enter_context(plain(world)), OURS: stack.enter_context(ours(world, **of_ours))}
