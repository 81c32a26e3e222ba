"""The brake is written before anything is read, stops every workflow, and loses nothing that was to be read."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from infra.brake import run as operate
from infra.local.aws_functions import load_module
from infra.local.environment import MACHINE, Template
from infra.local.model_server import ModelServer
from qwestly_agent.approvals import pause
from qwestly_agent.base.errors import Braked
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.memory import sweep
from qwestly_agent.memory.sweep import Picked
from qwestly_agent.stores.conversations import SILENCE_SECONDS
from tests.functions.talking import Talk, talking
from tests.functions.test_round_trips import Gate
from tests.servers import ChatServer, Client, until

TEMPLATE = Template.load()
FOLDERS = {name: Path(each["DefinitionUri"]).name.split(".")[0] for name, each in TEMPLATE.of_type(MACHINE).items()}
RECEIPT_NAMES = {
    "generate_card": "card-d1",
    "extract_memories": "memories-c1",
    "consolidate": "consolidation-r1",
    "brief": "r1",
}


@pytest.fixture
async def talk(mongodb_uri: str, database_name: str, model: ModelServer) -> AsyncIterator[Talk]:
    async with talking(mongodb_uri, database_name, model) as talk:
        yield talk


# --- written first ----------------------------------------------------------------------------------------------------


class SearchGate(Gate):
    """Holds back every search itself; writes pass."""

    async def _pass_commands(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        asked: asyncio.Event,
    ) -> None:
        while head := await reader.read(4):
            message = head + await reader.readexactly(int.from_bytes(head, "little") - 4)
            if b"\x02find\x00" in message or b"\x02aggregate\x00" in message:
                self.commands += 1
                await self._open.wait()
            writer.write(message)
            await writer.drain()


@pytest.mark.parametrize("by", ["an operator", "its user"])
def test_a_brake_is_on_while_the_database_holds_every_search(chat: ChatServer, client: Client, by: str) -> None:
    with SearchGate(int(chat.settings.mongodb_uri.rpartition(":")[2])) as gate, ThreadPoolExecutor(1) as pool:
        name = f"{chat.settings.mongodb_database}_held"
        settings = replace(chat.settings, mongodb_uri=f"mongodb://127.0.0.1:{gate.port}", mongodb_database=name)
        whose = EVERYBODY if by == "an operator" else client.user_id
        with (
            ChatServer(settings) as server,
            Client(server.url, client.user_id) as user,
            MongoClient(chat.settings.mongodb_uri) as mongo,
        ):
            gate.hold()
            try:
                if by == "an operator":
                    engaging = pool.submit(lambda: asyncio.run(operate("on", EVERYBODY, settings)).state)
                else:
                    engaging = pool.submit(lambda: user.request("POST", "/api/brake").json()["state"])
                until(lambda: gate.commands)
                found: Any = mongo[name]["agent_signals"].find_one({"_id": whose}) or {}
                assert found.get("brake_since"), "written before anything was asked for"
            finally:
                gate.discard()
            assert engaging.result() == "paused"
            mongo.drop_database(name)


# --- every workflow ---------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize("whose", ["its user", EVERYBODY])
@pytest.mark.parametrize("machine", FOLDERS)
@pytest.mark.thorough
async def test_every_state_machine_stops_and_is_named_in_the_receipt(talk: Talk, machine: str, whose: str) -> None:
    folder, services, user_id = FOLDERS[machine], talk.services, talk.user_id
    modules = (load_module(TEMPLATE.folder / "functions" / folder, each) for each in ("reader", "writer"))
    stopped = [each for module in modules for each in module.STATES.values() if not each.under_brake]
    assert stopped
    braked = EVERYBODY if whose == EVERYBODY else user_id
    given = {"user_id": user_id, "run_id": "r1", "draft_id": "d1", "conversation_id": "c1", "briefing_id": "b1"}
    for state in stopped:
        await pause.engage(services.signals, services.sweeps, braked, talk.clock)
        with pytest.raises(Braked):
            await state(services, state.model.model_validate(given))
        status = await pause.release(services.signals, services.sweeps, braked, talk.clock)
        assert status.receipt
        talk.clock.advance(1)
        # Kept after the release.
        status = await pause.status(services.signals, services.sweeps, braked, talk.clock)
        assert (status.state, status.receipt and status.receipt.stopped) == ("running", (RECEIPT_NAMES[folder],))


@pytest.mark.anyio
async def test_a_state_that_runs_is_stopped_and_named_and_one_that_ended_is_not(talk: Talk) -> None:
    services, user_id = talk.services, talk.user_id
    async with pause.named_run(services.runs, user_id, "memories-ended", talk.clock):
        pass
    begun = asyncio.Event()

    async def endless() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def running() -> None:
        async with pause.named_run(services.runs, user_id, "memories-c1", talk.clock):
            await pause.abort_if_paused(services.signals, user_id, endless())

    run = asyncio.ensure_future(running())
    await begun.wait()
    status = await pause.engage(services.signals, services.sweeps, user_id, talk.clock)
    with pytest.raises(Braked):
        await run
    assert (status.state, status.receipt) == ("paused", pause.Receipt(stopped=("memories-c1",)))


# --- nothing is lost --------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize("whose", ["its user", EVERYBODY])
async def test_what_the_brake_kept_from_being_read_is_due_at_its_release(talk: Talk, whose: str) -> None:
    services, braked = talk.services, EVERYBODY if whose == EVERYBODY else talk.user_id
    await talk.says("I live in Lisbon.")
    talk.clock.advance(SILENCE_SECONDS)
    await pause.engage(services.signals, services.sweeps, braked, talk.clock)
    assert (await sweep.sweep(services, Picked())).conversations == ()
    await pause.release(services.signals, services.sweeps, braked, talk.clock)
    [picked] = (await sweep.sweep(services, Picked())).conversations
    assert picked["conversation_id"] == "c1"
