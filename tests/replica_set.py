"""Stand in for a replica set of three: one member is the primary, and all hand their commands to the one database.

It answers what drivers ask a member about itself, and can lose connections as a network does: without a word.
"""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from struct import pack, unpack_from
from typing import Any

import bson

from tests.servers import free_port

MEMBERS = 3
OP_REPLY, OP_QUERY, OP_MSG = 1, 2004, 2013
HEADER_BYTES = 16


@dataclass(eq=False)
class Flow:
    """A connection to a member."""

    member: int
    commands: list[str] = field(default_factory=list)
    """Names of those that asked for more than about the member; they tell a pool's connection from a monitor's."""
    lost: bool = False
    """Nothing comes through any more, and neither end is told."""
    after_loss: list[str] = field(default_factory=list)
    """Names of the commands that were sent into the void."""


@dataclass
class ReplicaSet:
    upstream: int
    """Port of the database."""
    ports: list[int] = field(default_factory=lambda: [free_port() for _ in range(MEMBERS)])
    open: set[Flow] = field(default_factory=set)
    flows: list[Flow] = field(default_factory=list)
    """All that ever were."""
    waiting: int = 0
    """Commands whose answers are held back."""
    _ready: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "ReplicaSet":
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(5)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    @property
    def uri(self) -> str:
        return f"mongodb://{','.join(self._hosts)}/?replicaSet=rs0"

    @property
    def _hosts(self) -> list[str]:
        return [f"127.0.0.1:{port}" for port in self.ports]

    def pooled(self, member: int) -> list[Flow]:
        return [flow for flow in list(self.open) if flow.member == member and flow.commands]

    def whole(self) -> list[Flow]:
        """Connections that are open and not lost."""
        return [flow for flow in list(self.open) if not flow.lost]

    def lose_all(self) -> list[Flow]:
        """Lose the connections that are open; new ones work."""
        lost = [flow for flow in self.flows if flow in self.open]
        for flow in lost:
            flow.lost = True
        return lost

    def hold(self) -> None:
        """Keep back the answers to commands until `release`."""
        self._loop.call_soon_threadsafe(self._answering.clear)

    def release(self) -> None:
        self._loop.call_soon_threadsafe(self._answering.set)

    def freeze(self) -> None:
        """Take no command until `thaw`: those that come meanwhile are lost."""
        self._loop.call_soon_threadsafe(self._taking.clear)

    def thaw(self) -> None:
        self._loop.call_soon_threadsafe(self._taking.set)

    async def _serve(self) -> None:
        self._loop, self._over, self._answering = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        self._taking = asyncio.Event()
        self._answering.set()
        self._taking.set()
        servers = [
            await asyncio.start_server(lambda r, w, member=member: self._accept(member, r, w), "127.0.0.1", port)
            for member, port in enumerate(self.ports)
        ]
        self._ready.set()
        await self._over.wait()
        for server in servers:
            server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _accept(self, member: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        flow = Flow(member)
        self.flows.append(flow)
        self.open.add(flow)
        there, back = await asyncio.open_connection("127.0.0.1", self.upstream)
        with suppress(asyncio.CancelledError, ConnectionError, asyncio.IncompleteReadError):
            async for message in _messages(reader):
                answer = await self._answer(flow, message, there, back)
                if answer and not flow.lost:
                    writer.write(answer)
        self.open.discard(flow)
        writer.close()
        back.close()

    async def _answer(
        self, flow: Flow, message: bytes, there: asyncio.StreamReader, back: asyncio.StreamWriter
    ) -> bytes | None:
        _, request_id, _, code = unpack_from("<iiii", message)
        command = command_of(code, message)
        name = next(iter(command))
        if flow.lost:
            flow.after_loss.append(name)
            return None
        if name.lower() in ("hello", "ismaster"):
            return reply(code, request_id, self._hello(flow.member))
        if not self._taking.is_set():
            await self._taking.wait()
            return None
        flow.commands.append(name)
        back.write(message)
        answer = await anext(_messages(there))
        self.waiting += 1
        await self._answering.wait()
        self.waiting -= 1
        return answer

    def _hello(self, member: int) -> dict[str, Any]:
        """Answer without `topologyVersion`, so that the driver polls every ten seconds, as on Lambda."""
        primary = member == 0
        about_itself = {"me": self._hosts[member], "isWritablePrimary": primary, "ismaster": primary}
        about_the_set = {"setName": "rs0", "setVersion": 1, "hosts": self._hosts, "primary": self._hosts[0]}
        sizes = {"maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000}
        versions = {"minWireVersion": 0, "maxWireVersion": 21, "logicalSessionTimeoutMinutes": 30}
        more = {"helloOk": True, "secondary": not primary, "localTime": datetime.now(UTC), "ok": 1.0}
        return {**about_itself, **about_the_set, **sizes, **versions, **more}


async def _messages(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while head := await reader.read(4):
        yield head + await reader.readexactly(int.from_bytes(head, "little") - 4)


def command_of(code: int, message: bytes) -> dict[str, Any]:
    # After flags and the kind of the first section, or after flags, the collection's name and two numbers.
    start = HEADER_BYTES + 5 if code == OP_MSG else message.index(b"\0", HEADER_BYTES + 4) + 9
    [length] = unpack_from("<i", message, start)
    return bson.decode(message[start : start + length])


def reply(code: int, request_id: int, document: dict[str, Any]) -> bytes:
    body = bson.encode(document)
    if code == OP_MSG:
        rest, answered = pack("<iB", 0, 0) + body, OP_MSG
    else:
        rest, answered = pack("<iqii", 0, 0, 0, 1) + body, OP_REPLY
    return pack("<iiii", HEADER_BYTES + len(rest), 0, request_id, answered) + rest
