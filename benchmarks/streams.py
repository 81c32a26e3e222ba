"""Many turns at once: when each says its first word, what it costs, and how much memory it holds.

So many people talk at once, each asking again as soon as they are answered; they begin one after the other, spread over
the length of an answer. All of it runs on this machine: the model, the database and the people take their share.
"""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

import httpx2

from benchmarks.figures import Row, Target, compared
from benchmarks.servers import CHUNKS, OURS, PLAIN, USERS, Server, Told, World, ask, both, client, world

CHUNK_SECONDS = 0.1
ANSWER_SECONDS = CHUNK_SECONDS * len(CHUNKS)
STREAMS = (1, 10, 50, 100)
TURNS = 2
"""Of each person."""
WITH_A_FIRST_TEXT = (1, 10, 50)
GROWTH = 1.2
HELD = (0, 50, 100, 200)
HELD_AFTER = 50
"""Chunks of the streams whose memory is looked at."""
ARRIVE_EVERY_SECONDS = 0.1


def measure() -> dict[str, Any]:
    with world() as given:
        # Memory in processes of its own: what was once taken from the system is rarely given back.
        with both(given) as servers:
            memory = asyncio.run(_memory(given, servers))
        with both(given) as servers:
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
    async def talk(place: int, user: str) -> list[Told]:
        await asyncio.sleep(place * ANSWER_SECONDS / len(users))
        return [await ask(http, server, user) for _ in range(TURNS)]

    before = server.cpu_seconds()
    told = [each for turns in await asyncio.gather(*(talk(n, user) for n, user in enumerate(users))) for each in turns]
    first_texts = sorted(each.first_text * 1000 for each in told)
    return {
        "cpu_ms": (server.cpu_seconds() - before) / len(told) * 1000,
        "first_text_ms": median(first_texts),
        "first_text_p95_ms": first_texts[int(len(first_texts) * 0.95)],
    }


async def _memory(world: World, servers: dict[str, Server]) -> dict[str, dict[str, float]]:
    """By server, the megabytes that it holds with so many streams in the middle of their answers."""
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
    await asyncio.gather(*answers)
    return found


def memory_of_a_stream(found: dict[str, Any], name: str) -> float:
    """Megabytes."""
    held = found["memory_mb"][name]
    return (held[str(HELD[-1])] - held[str(HELD[0])]) / HELD[-1]


def rows(found: dict[str, Any]) -> Iterator[Row]:
    at_once = found["at_once"]
    for streams in WITH_A_FIRST_TEXT:
        for named, title in (("first_text_ms", "median"), ("first_text_p95_ms", "p95")):
            ours, plain = (at_once[str(streams)][name][named] for name in (OURS, PLAIN))
            yield compared(f"first text_delta, {streams} at once, {title}", "ms", ours, plain)
    for streams, each in at_once.items():
        ours = each[OURS]["cpu_ms"]
        growth = Target("of 1 stream", ours / at_once["1"][OURS]["cpu_ms"], at_most=GROWTH)
        target = growth if int(streams) == STREAMS[-1] else None
        yield Row(f"CPU of a turn, {streams} at once", "ms", ours, each[PLAIN]["cpu_ms"], target)
    ours, plain = (memory_of_a_stream(found, name) for name in (OURS, PLAIN))
    yield compared(f"memory of a stream, {HELD[-1]} at once", "MB", ours, plain)
