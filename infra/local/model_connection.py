"""Responses of the scripted model server that can wait, close or reset the connection."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol


class Act(Enum):
    START = auto()
    PAUSE = auto()
    HOLD = auto()
    HANG_UP = auto()
    RESET = auto()


Step: TypeAlias = bytes | Act


@dataclass(frozen=True)
class Performance:
    """An ASGI response that ends when the client disconnects."""

    steps: Iterable[Step]
    content_type: str
    chunk_delay: float
    hold: Callable[[], Awaitable[None]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        transport: asyncio.Transport = scope["state"]["transport"]
        async with asyncio.TaskGroup() as tasks:
            playing = tasks.create_task(self._play(transport, send))
            gone = tasks.create_task(_client_gone(receive))
            await asyncio.wait([playing, gone], return_when=asyncio.FIRST_COMPLETED)
            playing.cancel()
            gone.cancel()

    async def _play(self, transport: asyncio.Transport, send: Send) -> None:
        for step in self.steps:
            match step:
                case bytes():
                    await send({"type": "http.response.body", "body": step, "more_body": True})
                case Act.START:
                    headers = [(b"content-type", self.content_type.encode()), (b"cache-control", b"no-cache")]
                    await send({"type": "http.response.start", "status": 200, "headers": headers})
                case Act.PAUSE:
                    await asyncio.sleep(self.chunk_delay)
                case Act.HOLD:
                    await self.hold()
                case Act.HANG_UP | Act.RESET:
                    _hang_up(transport, reset=step is Act.RESET)
                    # A client disconnect ends this task.
                    await asyncio.Event().wait()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _hang_up(transport: asyncio.Transport, reset: bool) -> None:
    if not reset:
        transport.close()
        return
    # With a linger of zero seconds the kernel sends RST instead of FIN.
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


async def _client_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Connection(H11Protocol):
    """Give the application the socket as `request.state.transport`: ASGI has no way to close the connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {"transport": transport}
