"""Database round trips of a turn before the first model request."""

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace

import pytest

from infra.local.model_server import ModelServer
from tests.servers import ChatServer, Client, free_port, until

COMMANDS_BEFORE_THE_MODEL = 15
"""The claim, recent messages, the posted message, the profile, employment, preferences, settings, the memories, the
time of the last withdrawal, the level, pending and ended approvals, running and ended drafts, both brakes in one find,
the load, the rollout."""

COMMANDS_OF_A_NEW_CONVERSATION = COMMANDS_BEFORE_THE_MODEL + 1
"""Commands of a new conversation, which also searches memories with its first message."""


@dataclass
class Gate:
    """A proxy before the database that can hold back responses, and counts the commands that arrive meanwhile.

    The handshake of a new connection is answered: a driver with a small pool opens more connections for concurrent
    commands.
    """

    upstream: int
    port: int = field(default_factory=free_port)
    commands: int = 0
    _ready: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "Gate":
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(5)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def hold(self) -> None:
        self.commands = 0
        self._loop.call_soon_threadsafe(self._open.clear)

    def discard(self) -> None:
        self._loop.call_soon_threadsafe(self._open.set)

    async def _serve(self) -> None:
        self._loop, self._over, self._open = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        self._open.set()
        server = await asyncio.start_server(self._connect, "127.0.0.1", self.port)
        self._ready.set()
        await self._over.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.upstream)
        asked = asyncio.Event()
        try:
            await asyncio.gather(self._pass_commands(reader, back, asked), self._pass_answers(there, writer, asked))
        except (asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()
            back.close()

    async def _pass_commands(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: asyncio.Event
    ) -> None:
        async for message in _messages(reader):
            if any(name in message for name in (b"find", b"findAndModify", b"aggregate", b"insert")):
                self.commands += 1
                asked.set()
            writer.write(message)
            await writer.drain()

    async def _pass_answers(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: asyncio.Event
    ) -> None:
        async for message in _messages(reader):
            if asked.is_set():
                await self._open.wait()
            writer.write(message)
            await writer.drain()


async def _messages(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while head := await reader.read(4):
        yield head + await reader.readexactly(int.from_bytes(head, "little") - 4)


@pytest.fixture
def gate(mongodb_uri: str) -> Iterator[Gate]:
    with Gate(int(mongodb_uri.rpartition(":")[2])) as gate:
        yield gate


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("is_new", "commands"),
    [(False, COMMANDS_BEFORE_THE_MODEL), (True, COMMANDS_OF_A_NEW_CONVERSATION)],
    ids=["of a conversation", "of a new one"],
)
def test_all_reads_of_a_turn_but_the_brake_are_sent_before_any_response(
    chat: ChatServer, gate: Gate, model: ModelServer, is_new: bool, commands: int
) -> None:
    settings = replace(chat.settings, mongodb_uri=f"mongodb://127.0.0.1:{gate.port}")
    with ChatServer(settings) as server, Client(server.url, f"auth0|{uuid.uuid4().hex}") as client:
        conversation_id = client.say("Hello", message_id="m1").conversation_id
        client.say("Still warm?", conversation_id, message_id="m2")
        asked_before = len(model.requests)
        gate.hold()
        wanted = None if is_new else conversation_id
        turn = threading.Thread(target=client.say, args=("And now?", wanted), kwargs={"message_id": "m3"})
        turn.start()
        try:
            # Only the brake is read after the claim: either the turn sees the brake, or whoever pulls it sees the turn.
            until(lambda: gate.commands == commands - 1, 2.5)
            assert len(model.requests) == asked_before
        finally:
            gate.discard()
            turn.join()
        assert len(model.requests) == asked_before + 1
