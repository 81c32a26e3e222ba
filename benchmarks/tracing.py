"""The CPU of a turn of 100 chunks with three tools, with and without sending traces.

Both servers are the chat function. They answer the same turn one after the other, in alternating order, so that other
load on the machine slows both. Only the cheaper half of each server's turns counts: other processes make a turn more
expensive, never cheaper. The collector runs in another process.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import cycle
from random import Random
from statistics import mean
from typing import Any

import httpx2

from benchmarks.figures import Row, compared
from benchmarks.servers import CHUNKS, USERS, Server, World, ask, client, ours, world
from tests.collector import Collector

PAIRS, WARM_UP = 120, 8
MOST_SECONDS = 200
"""No pair starts after this time: a busy machine measures fewer."""
OFF, ON = "off", "on"
MOST = 1.05
TOOLS: list[dict[str, Any]] = [
    {"name": "get_user_profile", "arguments": {}},
    {"name": "query_user_knowledge", "arguments": {"only": "memories", "query": "goals"}},
    {"name": "query_user_knowledge", "arguments": {"query": "teams"}},
]
REPLIES = [*({"tool_calls": [tool]} for tool in TOOLS), {"text": CHUNKS}]


def measure() -> dict[str, Any]:
    with ExitStack() as stack:
        collector, given = stack.enter_context(Collector()), stack.enter_context(world())
        servers = {
            OFF: stack.enter_context(ours(given)),
            ON: stack.enter_context(ours(given, TRACES_URL=collector.url)),
        }
        taken = asyncio.run(_measure(given, servers))
        spans, sent = len(collector.spans), sum(map(len, collector.raw))
    turns = WARM_UP + len(taken[ON])
    return {"cpu_ms": taken, "spans_a_turn": spans / turns, "bytes_a_turn": sent / turns}


async def _measure(world: World, servers: dict[str, Server]) -> dict[str, list[float]]:
    """Return each server's CPU milliseconds of its turn in each pair."""
    users, taken = cycle(USERS), dict[str, list[float]]({name: [] for name in servers})
    until = time.monotonic() + MOST_SECONDS
    async with client() as http:
        for number in range(WARM_UP + PAIRS):
            if time.monotonic() > until:
                break
            for name in list(servers)[:: 1 if number % 2 else -1]:
                milliseconds = await _turn(http, world, servers[name], next(users))
                if number >= WARM_UP:
                    taken[name].append(milliseconds)
    return taken


async def _turn(http: httpx2.AsyncClient, world: World, server: Server, user: str) -> float:
    before = server.cpu_seconds()
    world.script(*REPLIES)
    await ask(http, server, user)
    return (server.cpu_seconds() - before) * 1000


def rows(found: dict[str, Any]) -> Iterator[Row]:
    on, off = found["cpu_ms"][ON], found["cpu_ms"][OFF]
    yield compared("CPU of a turn with three tools, traced", "ms", _cheaper_half(on), _cheaper_half(off), MOST)
    lowest, highest = _interval(on, off)
    yield Row("its ratio, at least, with 95 % certainty", "", lowest)
    yield Row("and at most", "", highest)
    yield Row("pairs of turns", "", len(on))
    yield Row("spans of such a turn", "", found["spans_a_turn"])
    yield Row("bytes of such a trace", "B", found["bytes_a_turn"])


def _cheaper_half(taken: Sequence[float]) -> float:
    return mean(sorted(taken)[: (len(taken) + 1) // 2])


def _interval(on: Sequence[float], off: Sequence[float]) -> tuple[float, float]:
    """Return the confidence interval from a thousand resamples of the turns."""
    chance = Random(1)  # noqa: S311  no secret
    ratios = sorted(
        _cheaper_half(chance.choices(on, k=len(on))) / _cheaper_half(chance.choices(off, k=len(off)))
        for _ in range(1_000)
    )
    return ratios[25], ratios[975]
