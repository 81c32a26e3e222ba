"""Concurrent turns: time to first text, CPU and memory by the number of streams.

Each simulated user asks again as soon as they are answered. They start one after another, spread over the duration of
an answer. The model, the database and the users run on the same machine and use part of it. `python -m
benchmarks.streams` runs 100 users for a minute on fresh data, and counts the outcomes, each failure with its cause from
the log. `python -m benchmarks.streams 20 20` runs 20 users for 20 seconds.
"""

import asyncio
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import httpx2

from benchmarks.figures import Row, Target, compared
from benchmarks.servers import (
    CHUNKS,
    OURS,
    PLAIN,
    USERS,
    EndedOtherwise,
    Server,
    Told,
    World,
    ask,
    both,
    client,
    ours,
    world,
)
from qwestly_agent.base.observability import Event

CHUNK_SECONDS = 0.1
ANSWER_SECONDS = CHUNK_SECONDS * len(CHUNKS)
STREAMS = (1, 10, 50, 100)
TURNS = 2
"""Turns per user."""
ANSWERED = "answered"
MINUTE_SECONDS = 60.0
"""Duration of `python -m benchmarks.streams`."""
CONNECTIONS = "20"
"""Connections to the database, as in the local stack, where one process serves all turns. On Lambda a process has one
turn and five connections."""
WITH_A_FIRST_TEXT = (1, 10, 50)
GROWTH = 1.2
RATIO = 1.2
OWN_SHARE_MS = {"first_text_ms": 25, "first_text_p95_ms": 60}
"""The maximum difference in time to first text from the plain stack."""
HELD = (0, 50, 100, 200)
HELD_AFTER = 50
"""Chunks after which the memory of streams is measured."""
ARRIVE_EVERY_SECONDS = 0.1


def measure() -> dict[str, Any]:
    with world() as given:
        # Memory is measured in separate processes: a process rarely returns memory to the system.
        with both(given) as servers:
            memory = asyncio.run(_memory(given, servers))
        with both(given, MONGODB_CONNECTIONS=CONNECTIONS) as servers:
            at_once = asyncio.run(_at_once(given, servers))
    return {"chunk_seconds": CHUNK_SECONDS, "at_once": at_once, "memory_mb": memory}


async def _at_once(world: World, servers: dict[str, Server]) -> dict[str, dict[str, Any]]:
    async with client() as http:
        world.set_pace(0)
        for server in servers.values():
            await _warm_up(http, server)
        world.set_pace(CHUNK_SECONDS)
        return {
            str(streams): {name: await _talking(http, server, USERS[:streams]) for name, server in servers.items()}
            for streams in STREAMS
        }


async def _warm_up(http: httpx2.AsyncClient, server: Server) -> None:
    for user in USERS[:20]:
        await ask(http, server, user)


async def _talking(http: httpx2.AsyncClient, server: Server, users: Sequence[str]) -> dict[str, float]:
    async def talk(place: int, user: str) -> list[Told | None]:
        await asyncio.sleep(place * ANSWER_SECONDS / len(users))
        return [await _told(http, server, user) for _ in range(TURNS)]

    before = server.cpu_seconds()
    asked = [each for turns in await asyncio.gather(*(talk(n, user) for n, user in enumerate(users))) for each in turns]
    told = [each for each in asked if each]
    first_texts = sorted(each.first_text * 1000 for each in told)
    return {
        "not_answered": len(asked) - len(told),
        "cpu_ms": (server.cpu_seconds() - before) / len(told) * 1000,
        "first_text_ms": median(first_texts),
        "first_text_p95_ms": first_texts[int(len(first_texts) * 0.95)],
    }


async def _told(http: httpx2.AsyncClient, server: Server, user: str) -> Told | None:
    """None for a turn that was rejected or aborted, as happens to many at once in one process of a busy machine."""
    try:
        return await ask(http, server, user)
    except EndedOtherwise:
        return None


async def _memory(world: World, servers: dict[str, Server]) -> dict[str, dict[str, float]]:
    """Return each server's megabytes while so many streams are in the middle of their answers."""
    async with client() as http:
        world.set_pace(0)
        for server in servers.values():
            await _warm_up(http, server)
        world.set_pace(0, hold_after=HELD_AFTER)
        return {name: await _held(world, http, server) for name, server in servers.items()}


async def _held(world: World, http: httpx2.AsyncClient, server: Server) -> dict[str, float]:
    found, answers = {str(HELD[0]): server.resident_mb()}, list[asyncio.Task[Told]]()
    for before, streams in pairwise(HELD):
        for user in USERS[before:streams]:
            answers.append(asyncio.create_task(ask(http, server, user)))
            await asyncio.sleep(ARRIVE_EVERY_SECONDS)
        await asyncio.sleep(1)
        found[str(streams)] = server.resident_mb()
    while not all(answer.done() for answer in answers):
        await asyncio.to_thread(world.release)
        await asyncio.sleep(0.1)
    # Two hundred that end at once exceed one process's connections: their outcomes are not measured.
    await asyncio.gather(*answers, return_exceptions=True)
    return found


@dataclass(frozen=True)
class Ending:
    outcome: str
    """`ANSWERED`, or the code, the text or the type of the error."""
    ids: tuple[str, ...] = ()
    """Ids of the run and the request, which the log names."""


async def _talk(given: World, server: Server, streams: int, seconds: float) -> Counter[str]:
    """Return the number of answered turns, and the others with their causes."""
    given.set_pace(CHUNK_SECONDS)
    ends = time.monotonic() + seconds
    ended = list[Ending]()

    async def talk(place: int, user: str) -> None:
        await asyncio.sleep(place * ANSWER_SECONDS / streams)
        while time.monotonic() < ends:
            ended.append(await _ending(http, server, user))
            if ended[-1].outcome != ANSWERED:  # like a page, it waits before it asks again
                await asyncio.sleep(ANSWER_SECONDS)

    async with client() as http:
        await asyncio.gather(*(talk(place, user) for place, user in enumerate(USERS[:streams])))
    return Counter(with_causes(ended, server.log()))


async def _ending(http: httpx2.AsyncClient, server: Server, user: str) -> Ending:
    try:
        await ask(http, server, user)
    except httpx2.HTTPError as error:
        return Ending(type(error).__name__)
    except EndedOtherwise as error:
        return ending_of(error.answer)
    return Ending(ANSWERED)


def ending_of(answer: str) -> Ending:
    """Return the ending of a turn without an answer: the error code of a refused request, or the error of a stream."""
    found = re.search(r'"(?:code|errorText)": ?"([^"]+)"', answer)
    ids = re.findall(r'"(?:request_id|messageId)": ?"(?:msg_)?([^"]+)"', answer)
    return Ending(found[1] if found else "another end", tuple(ids))


def with_causes(ended: Sequence[Ending], log: str) -> Iterator[str]:
    """Yield each outcome; for a failure, with the logged causes of its turn or request."""
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    failed = [each for each in lines if each.get("message") in (Event.TURN_FAILED, Event.REQUEST_FAILED)]
    causes = {each.get(name): each["cause"] for each in failed for name in ("run_id", "request_id")}
    for each in ended:
        known = next((causes[one] for one in each.ids if one in causes), None)
        yield each.outcome if each.outcome == ANSWERED else f"{each.outcome} ({' ← '.join(known or ['not logged'])})"


def talk(streams: int = STREAMS[-1], seconds: float = MINUTE_SECONDS) -> Counter[str]:
    with world() as given, ours(given, MONGODB_CONNECTIONS=CONNECTIONS) as server:
        return asyncio.run(_talk(given, server, streams, seconds))


def memory_of_a_stream(found: dict[str, Any], name: str) -> float:
    """Megabytes."""
    held = found["memory_mb"][name]
    return (held[str(HELD[-1])] - held[str(HELD[0])]) / HELD[-1]


def rows(found: dict[str, Any]) -> Iterator[Row]:
    at_once = found["at_once"]
    for streams in WITH_A_FIRST_TEXT:
        for named, title in (("first_text_ms", "median"), ("first_text_p95_ms", "p95")):
            ours, plain = (at_once[str(streams)][name][named] for name in (OURS, PLAIN))
            own = Target("own share", ours - plain, at_most=OWN_SHARE_MS[named])
            yield Row(f"first text_delta, {streams} at once, {title}", "ms", ours, plain, own)
    for streams, each in at_once.items():
        ours = each[OURS]["cpu_ms"]
        growth = Target("of 1 stream", ours / at_once["1"][OURS]["cpu_ms"], at_most=GROWTH)
        ratio = Target("ratio", ours / each[PLAIN]["cpu_ms"], at_most=RATIO)
        target = {STREAMS[-1]: growth, WITH_A_FIRST_TEXT[-1]: ratio}.get(int(streams))
        yield Row(f"CPU of a turn, {streams} at once", "ms", ours, each[PLAIN]["cpu_ms"], target)
    missed = sum(each[OURS]["not_answered"] for each in at_once.values())
    yield Row("turns not answered", "", missed, target=Target("of them", missed, at_most=0))
    ours, plain = (memory_of_a_stream(found, name) for name in (OURS, PLAIN))
    yield compared(f"memory of a stream, {HELD[-1]} at once", "MB", ours, plain)


if __name__ == "__main__":
    for outcome, count in talk(*map(int, sys.argv[1:])).most_common():
        print(f"{count:5} {outcome}")
