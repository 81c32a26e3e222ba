"""Time to first text by the distance of the database: the slope is the number of sequential round trips."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import cycle
from statistics import median
from typing import Any

from benchmarks.figures import Row, Target
from benchmarks.servers import USERS, Server, World, ask, client, ours, world
from tests.servers import free_port

ADDED_MS = (0, 20, 50)
TURNS = 15
WARM_UP = 5
SLOPE = 1.1


@dataclass
class Distance:
    """A proxy that delays each response independently of the others."""

    upstream: int
    seconds: float
    port: int = field(default_factory=free_port)

    async def serve(self, ready: threading.Event, over: asyncio.Event) -> None:
        server = await asyncio.start_server(self._connect, "127.0.0.1", self.port)
        ready.set()
        await over.wait()
        server.close()
        connections = asyncio.all_tasks() - {asyncio.current_task()}
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.upstream)
        try:
            await asyncio.gather(_pass(reader, back, 0), _pass(there, writer, self.seconds))
        except (asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()
            back.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    while data := await reader.read(65536):
        if seconds:
            loop.call_later(seconds, writer.write, data)
        else:
            writer.write(data)


@contextmanager
def farther(world: World, seconds: float) -> Iterator[World]:
    """Yield the world with a database whose responses arrive `seconds` later."""
    with held_back(int(world.mongodb_uri.rpartition(":")[2]), seconds) as port:
        yield replace(world, mongodb_uri=f"mongodb://127.0.0.1:{port}")


@contextmanager
def held_back(upstream: int, seconds: float) -> Iterator[int]:
    """Yield a port that forwards to `upstream` and delays its responses by `seconds`."""
    distance = Distance(upstream, seconds)
    ready, loop, over = threading.Event(), asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(distance.serve(ready, over)), daemon=True)
    thread.start()
    assert ready.wait(5)
    try:
        yield distance.port
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


def measure() -> dict[str, Any]:
    found: dict[str, Any] = {}
    with world() as given:
        given.set_pace(0)
        for added in ADDED_MS:
            with farther(given, added / 1000) as far, ours(far) as server:
                first, *rest = asyncio.run(_first_texts(server))
            found[str(added)] = {"first_turn_ms": first, "warm_ms": median(rest[WARM_UP:])}
    return {"added_ms": found}


async def _first_texts(server: Server) -> list[float]:
    """Milliseconds, turn by turn."""
    users = cycle(USERS)
    async with client() as http:
        return [(await ask(http, server, next(users))).first_text * 1000 for _ in range(1 + WARM_UP + TURNS)]


def slope(found: dict[str, Any], of: str) -> float:
    """Milliseconds by which the first text is delayed per millisecond of distance to the database."""
    near, far = str(ADDED_MS[0]), str(ADDED_MS[-1])
    return (found["added_ms"][far][of] - found["added_ms"][near][of]) / (ADDED_MS[-1] - ADDED_MS[0])


def rows(found: dict[str, Any]) -> Iterator[Row]:
    for added, each in found["added_ms"].items():
        yield Row(f"first text_delta, database {added} ms farther, warm", "ms", each["warm_ms"])
    for added, each in found["added_ms"].items():
        yield Row(f"first text_delta, database {added} ms farther, first turn", "ms", each["first_turn_ms"])
    warm = slope(found, "warm_ms")
    yield Row(
        "round trips in a row before the first text_delta, warm", "", warm, None, Target("slope", warm, at_most=SLOPE)
    )
    yield Row("the same in the first turn of a process", "", slope(found, "first_turn_ms"))
