"""When a turn says its first word, by role: an interview's no later than a chat's."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from statistics import median, quantiles
from typing import Any

from benchmarks.figures import Row, Target
from benchmarks.latency import held_back
from benchmarks.servers import USERS, Server, ask, client, ours, world

ROLES = ("chat", "interview", "onboarding", "learning")
TURNS_AT_ONCE, SLOW_TURNS, WARM_UP = 30, 7, 2
FIRST_TOKEN_SECONDS, NEXT_TOKEN_SECONDS = 0.6, 0.02
MOST_RATIO = 1.2
"""Of an interview's first text to a chat's."""
MOST_OWN_MS = 500


def measure() -> dict[str, Any]:
    with world() as given:
        given.set_pace(0)
        with ours(given) as server:
            at_once = asyncio.run(_first_texts(server, TURNS_AT_ONCE))
        given.set_pace(NEXT_TOKEN_SECONDS)
        with (
            held_back(int(given.model_url.rpartition(":")[2]), FIRST_TOKEN_SECONDS) as port,
            ours(replace(given, model_url=f"http://127.0.0.1:{port}")) as server,
        ):
            slow = asyncio.run(_first_texts(server, SLOW_TURNS))
    return {
        "at_once_p95_ms": {role: quantiles(found, n=20)[-1] for role, found in at_once.items()},
        "slow_ms": {role: median(found) for role, found in slow.items()},
    }


async def _first_texts(server: Server, turns: int) -> dict[str, list[float]]:
    """Milliseconds by role, the roles in turn."""
    users, found = cycle(USERS), dict[str, list[float]]()
    async with client() as http:
        for turn in range(WARM_UP + turns):
            for role in ROLES:
                told = await ask(http, server, next(users), role=role)
                if turn >= WARM_UP:
                    found.setdefault(role, []).append(told.first_text * 1000)
    return found


def rows(found: dict[str, Any]) -> Iterator[Row]:
    for role, p95 in found["at_once_p95_ms"].items():
        target = Target("p95", p95, at_most=MOST_OWN_MS)
        yield Row(f"first text_delta of {role}, model at once, p95", "ms", p95, None, target)
    chat = found["slow_ms"]["chat"]
    for role, each in found["slow_ms"].items():
        target = Target("to chat", each / chat, at_most=MOST_RATIO) if role == "interview" else None
        yield Row(f"first text_delta of {role}, model of 600 ms", "ms", each, None, target)
