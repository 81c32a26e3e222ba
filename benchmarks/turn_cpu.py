"""The CPU of a streamed turn: our chat function beside the stack that a team would write first.

`python -m benchmarks.turn_cpu [--json FILE]`, on Linux. Both answer the same turns of the same scripted model, in turn,
each as a process of its own; what is compared is what their processes burn, user and system, every thread included.
"""

import argparse
import asyncio
import json
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

import httpx2
from pymongo import MongoClient

from infra.local.environment import DEMO_DATABASE, DEMO_USER, Template
from qwestly_agent.settings import Settings, is_reference
from qwestly_agent.stores import memories, profiles
from tests.e2e.processes import ENVIRONMENT, START_SECONDS, model_server, python, started
from tests.servers import events_of, free_port, mongo_server, token, user_says, wait_for_port

CHUNKS = [f"word{number} and " for number in range(100)]
PLAIN, OURS = "plain", "ours"
USERS = [f"auth0|benchmark-{number}" for number in range(40)]
"""Many, so that none of them writes more than a person could."""


@dataclass(frozen=True)
class Pace:
    """How fast the model speaks. Turns follow each other: a container of the function has one at a time."""

    name: str
    chunk_delay: float
    turns: int
    """Of each server in a round."""
    target: float
    """The highest ratio of ours to plain."""


PACES = (Pace("at once", 0, 10, 0.65), Pace("20 ms a chunk", 0.02, 2, 0.8))


@dataclass(frozen=True)
class Server:
    """One of the two, as a process."""

    url: str
    pid: int

    def cpu_seconds(self) -> float:
        # The CPU clock of another process, numbered as clock_getcpuclockid(3) does: /proc tells whole ticks of 10 ms.
        return time.clock_gettime((~self.pid << 3) | 2)


async def answer(http: httpx2.AsyncClient, server: Server, user_id: str) -> None:
    """A turn as `useChat` posts it, read to its end."""
    body = {"id": uuid.uuid4().hex, "messages": [user_says("What do you know about me?")], "trigger": "submit-message"}
    headers = {"Authorization": f"Bearer {token(user_id)}"}
    async with http.stream("POST", f"{server.url}/api/chat", json=body, headers=headers) as response:
        text = (await response.aread()).decode()
    events = list(events_of(iter(text.splitlines())))
    said = "".join(event.data["delta"] for event in events if event.name == "text-delta")
    assert said == "".join(CHUNKS), text[-500:]
    assert [event.name for event in events[-2:]] == ["finish", "[DONE]"]


async def milliseconds_a_turn(http: httpx2.AsyncClient, server: Server, pace: Pace, users: Iterator[str]) -> float:
    before = server.cpu_seconds()
    for _ in range(pace.turns):
        await answer(http, server, next(users))
    return (server.cpu_seconds() - before) / pace.turns * 1000


async def measure(servers: dict[str, Server], model_url: str, rounds: int) -> dict[str, dict[str, list[float]]]:
    """By pace and server, the milliseconds a turn of each round."""
    users = cycle(USERS)
    async with httpx2.AsyncClient(timeout=60) as http:
        measured: dict[str, dict[str, list[float]]] = {}
        for pace in PACES:
            reply = {"text": CHUNKS, "chunk_delay": pace.chunk_delay}
            (await http.post(f"{model_url}/_control/fault", json=reply)).raise_for_status()
            taken = measured[pace.name] = {name: [] for name in servers}
            for number in range(rounds + 1):
                for name, server in servers.items():
                    milliseconds = await milliseconds_a_turn(http, server, pace, users)
                    if number:  # the first round warms both up
                        taken[name].append(milliseconds)
        return measured


@contextmanager
def both_servers(window_ms: str) -> Iterator[tuple[dict[str, Server], str, float]]:
    """Also the address of the model that both ask, and the milliseconds within which ours joins what it says."""
    with ExitStack() as stack:
        mongodb_uri, _ = stack.enter_context(mongo_server())
        model_port = free_port()
        stack.enter_context(model_server(model_port))
        model_url = f"http://127.0.0.1:{model_port}"
        given = {
            **{k: v for k, v in Template.load().environment("ChatFunction").items() if not is_reference(v)},
            **ENVIRONMENT,
            "MONGODB_URI": mongodb_uri,
            "MODEL_BASE_URL": f"{model_url}/v1",
            "EMBEDDINGS_BASE_URL": f"{model_url}/v1",
            "JOIN_WINDOW_MS": window_ms,
        }
        fill(given)
        plain_port, our_port = free_port(), free_port()
        uvicorn = python("uvicorn", "--factory", "benchmarks.plain_stack:app", "--no-access-log", "--port")
        plain = stack.enter_context(started(*uvicorn, str(plain_port), **given))
        given["AWS_LWA_PORT"] = str(our_port)
        ours = stack.enter_context(started("./run.sh", folder="functions/chat", **given))
        servers = {}
        for name, process, port in ((PLAIN, plain, plain_port), (OURS, ours, our_port)):
            wait_for_port(port, process.popen, START_SECONDS)
            servers[name] = Server(f"http://127.0.0.1:{port}", process.popen.pid)
        yield servers, model_url, Settings.from_env(given).join_window_ms


def fill(environment: dict[str, str]) -> None:
    """Give each user what the demo user has that a prompt begins with."""
    with started(*python("infra.local.demo"), **environment) as filling:
        assert filling.wait() == 0, filling.said
    with MongoClient[dict[str, Any]](environment["MONGODB_URI"]) as mongo:
        database = mongo[DEMO_DATABASE]
        of_a_person = (profiles.CANDIDATES, profiles.EMPLOYMENT, profiles.PREFERENCES, profiles.LINKEDIN)
        for name in (*of_a_person, memories.COLLECTION):
            found = list(database[name].find({"user_id": DEMO_USER}, {"content_embedding": 0}))
            copies = [{**each, "_id": f"{user}-{each['_id']}", "user_id": user} for user in USERS for each in found]
            database[name].insert_many(copies)


def summary(measured: dict[str, dict[str, list[float]]], window_ms: float) -> dict[str, Any]:
    paces: dict[str, Any] = {}
    for pace in PACES:
        taken = measured[pace.name]
        ours, plain = median(taken[OURS]), median(taken[PLAIN])
        paces[pace.name] = {
            "plain_ms": round(plain, 1),
            "ours_ms": round(ours, 1),
            "ratio": round(ours / plain, 3),
            "target": pace.target,
            "rounds_ms": {name: [round(each, 1) for each in values] for name, values in taken.items()},
        }
    return {"chunks": len(CHUNKS), "join_window_ms": window_ms, "cpu_of_a_turn": paces}


def table(found: dict[str, Any]) -> str:
    lines = [
        f"CPU of a turn of {found['chunks']} chunks, in milliseconds; deltas are joined within "
        f"{found['join_window_ms']:g} ms. Median of the rounds.",
        f"{'':15}{'plain':>8}{'ours':>8}{'ratio':>8}{'at most':>9}",
    ]
    for name, each in found["cpu_of_a_turn"].items():
        lines.append(f"{name:15}{each['plain_ms']:8.1f}{each['ours_ms']:8.1f}{each['ratio']:8.2f}{each['target']:9.2f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_cpu", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured, every round of it")
    parser.add_argument("--rounds", type=int, default=7, help="measured after one that warms up (7)")
    parser.add_argument("--window-ms", default="", help="join within so many milliseconds instead of the default")
    options = parser.parse_args()
    with both_servers(options.window_ms) as (servers, model_url, window_ms):
        measured = asyncio.run(measure(servers, model_url, options.rounds))
    found = summary(measured, window_ms)
    print(table(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
