"""The CPU of a streamed turn of 100 chunks, and its cost on Lambda.

The two servers answer the same turns alternately, round by round, one turn at a time like a container of the function.
Model, database and client are other processes and are not counted.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from statistics import median
from typing import Any

import httpx2

from benchmarks.figures import Row, compared
from benchmarks.servers import CHUNKS, OURS, PLAIN, USERS, Server, World, ask, both, client, world

ROUNDS = 7
"""Measured rounds, after one for warming up."""
MB_OF_A_PROCESSOR = 1769
"""Memory with which Lambda provides a whole processor; less memory gives a proportional share."""
MEMORY_SIZES = (512, 1024, 1769)
USD_A_GB_SECOND = 0.0000133334
"""Price on arm64, aws.amazon.com/lambda/pricing, November 2026."""


@dataclass(frozen=True)
class Pace:
    """The model's speed."""

    name: str
    chunk_delay: float
    turns: int
    """Turns of each server per round."""
    target: float
    """The highest ratio of ours to plain."""


PACES = (Pace("at once", 0, 10, 0.5), Pace("20 ms a chunk", 0.02, 2, 0.75))


def measure() -> dict[str, Any]:
    with world() as given, both(given) as servers:
        taken = asyncio.run(_measure(given, servers))
    paces: dict[str, Any] = {}
    for pace in PACES:
        found = {
            name: {"cpu_ms": median(cpu for cpu, _ in each), "whole_ms": median(whole for _, whole in each)}
            for name, each in taken[pace.name].items()
        }
        rounds = {name: [round(cpu, 2) for cpu, _ in each] for name, each in taken[pace.name].items()}
        paces[pace.name] = {**found, "rounds_cpu_ms": rounds}
    return {"chunks": len(CHUNKS), "paces": paces, "lambda": _on_lambda(paces["20 ms a chunk"])}


async def _measure(world: World, servers: dict[str, Server]) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return, by pace and server, the CPU and wall milliseconds of a turn in each round."""
    users = cycle(USERS)
    async with client() as http:
        measured: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for pace in PACES:
            world.set_pace(pace.chunk_delay)
            taken = measured[pace.name] = {name: [] for name in servers}
            for number in range(ROUNDS + 1):
                for name, server in servers.items():
                    milliseconds = await _round(http, server, pace, users)
                    if number:
                        taken[name].append(milliseconds)
        return measured


async def _round(http: httpx2.AsyncClient, server: Server, pace: Pace, users: Iterator[str]) -> tuple[float, float]:
    before = server.cpu_seconds()
    told = [await ask(http, server, next(users)) for _ in range(pace.turns)]
    return (server.cpu_seconds() - before) / pace.turns * 1000, median(each.whole for each in told) * 1000


def _on_lambda(pace: dict[str, Any]) -> dict[str, Any]:
    """Computed: a turn takes as long as here, and its CPU time grows as the processor's share shrinks."""
    return {
        str(memory): {name: _gb_seconds(pace[name]["whole_ms"], pace[name]["cpu_ms"], memory) for name in (PLAIN, OURS)}
        for memory in MEMORY_SIZES
    }


def _gb_seconds(whole_ms: float, cpu_ms: float, memory_mb: int) -> float:
    slowed = cpu_ms * max(0.0, MB_OF_A_PROCESSOR / memory_mb - 1)
    return memory_mb / 1024 * (whole_ms + slowed) / 1000


def rows(found: dict[str, Any]) -> Iterator[Row]:
    for pace in PACES:
        each = found["paces"][pace.name]
        yield compared(f"CPU of a turn, {pace.name}", "ms", each[OURS]["cpu_ms"], each[PLAIN]["cpu_ms"], pace.target)
    for memory, each in found["lambda"].items():
        yield compared(f"a turn on Lambda with {memory} MB, 20 ms a chunk", "GB-s", each[OURS], each[PLAIN])
    usual = [found["lambda"]["1024"][name] * 1000 * USD_A_GB_SECOND for name in (OURS, PLAIN)]
    yield compared("a thousand turns on Lambda with 1024 MB", "USD", *usual)
