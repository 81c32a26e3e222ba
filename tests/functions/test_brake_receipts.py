"""The brake is stored before anything is read, stops every workflow, and loses no pending extraction."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from pymongo import MongoClient

from infra.brake import run as operate
from infra.local.candidate_app import CandidateAppServer, Fault
from infra.local.environment import Template
from infra.local.model_server import ModelServer
from qwestly_agent import bootstrap
from qwestly_agent.approvals import pause
from qwestly_agent.base.errors import Braked
from qwestly_agent.briefings.model import BriefingState
from qwestly_agent.briefings.writer import begin_if_due, deliver, gather
from qwestly_agent.domain.approval import EVERYBODY, LEFT_BEHIND_SECONDS
from qwestly_agent.domain.briefing import run_of as briefing_name
from qwestly_agent.domain.resume import ResumeRecord
from qwestly_agent.memory import extract_writer
from qwestly_agent.memory.extract_writer import ConversationsToRead
from qwestly_agent.resumes.model import ResumeState
from qwestly_agent.resumes.writer import keep_document
from qwestly_agent.stores.conversations import SILENCE_SECONDS
from qwestly_agent.stores.user_settings import Signals
from qwestly_agent.workflow import Workflow
from qwestly_agent.workflow_state import OutcomeUnknown, UserState
from qwestly_agent.workflows import WORKFLOWS
from tests.functions.talking import Talk, add_memory, talking
from tests.functions.test_round_trips import Gate
from tests.minimal_input import minimal_input
from tests.servers import API_SECRET, ChatServer, Client, until

TEMPLATE = Template.load()


@pytest.fixture
async def talk(mongodb_uri: str, database_name: str, model: ModelServer) -> AsyncIterator[Talk]:
    async with talking(mongodb_uri, database_name, model) as talk:
        yield talk


# --- written first ----------------------------------------------------------------------------------------------------


class SearchGate(Gate):
    """Holds every search but lets writes pass."""

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
def test_the_brake_takes_effect_while_every_database_search_hangs(chat: ChatServer, client: Client, by: str) -> None:
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


@pytest.mark.parametrize(("what", "thaws"), [("POST", True), ("POST", False), ("DELETE", False)])
def test_a_brake_on_a_frozen_database_takes_effect_or_says_it_may_have(
    chat: ChatServer, client: Client, monkeypatch: pytest.MonkeyPatch, what: str, thaws: bool
) -> None:
    monkeypatch.setattr(bootstrap, "DATABASE_ANSWERS_WITHIN_SECONDS", 0.1)
    monkeypatch.setattr(pause, "PATIENCE_SECONDS", 30.0 if thaws else 0.0)
    with Gate(int(chat.settings.mongodb_uri.rpartition(":")[2])) as gate, ThreadPoolExecutor(1) as pool:
        settings = replace(chat.settings, mongodb_uri=f"mongodb://127.0.0.1:{gate.port}")
        with ChatServer(settings) as server, Client(server.url, client.user_id) as user:
            if what == "DELETE":
                client.request("POST", "/api/brake")
            gate.hold()
            asked = pool.submit(user.request, what, "/api/brake")
            if thaws:
                until(lambda: gate.commands > 1, 10)  # the write was retried
                gate.discard()
                assert asked.result().json()["state"] == "paused"
                return
            answer = asked.result()
            gate.discard()
            assert (answer.status_code, answer.json()["error"]["message"]) == (503, pause.UNSURE)
            state = client.get("/api/brake")["state"]
            assert state == ("paused" if what == "POST" else "running"), "it took hold, and pausing ends"


@pytest.mark.anyio
async def test_a_turn_whose_lease_ended_while_the_database_hung_is_not_listed_as_stopped(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn_on = Signals.turn_brake_on

    async def slowly(signals: Signals, user_id: str, now: float) -> None:
        talk.clock.advance(8)
        await turn_on(signals, user_id, now)

    monkeypatch.setattr(Signals, "turn_brake_on", slowly)
    monkeypatch.setattr(pause, "PATIENCE_SECONDS", 0.0)
    conversations = talk.services.signals.database["agent_conversations"]
    mine = {"id": "c1", "user_id": talk.user_id}
    await conversations.insert_one({"_id": "c1", **mine, "holder": "turn", "lease_until": talk.clock() + 4})
    status = await pause.engage(talk.services.signals, talk.services.sweeps, talk.user_id, talk.clock)
    assert (status.state, status.receipt and status.receipt.running) == ("partial", ("turn",))
    await conversations.update_one(mine, {"$set": {"lease_until": 0.0}})
    status = await pause.status(talk.services.signals, talk.services.sweeps, talk.user_id, talk.clock)
    assert status.state == "paused"


@pytest.mark.anyio
async def test_the_receipt_lists_the_briefing_scheduled_for_later(talk: Talk) -> None:
    services, user_id = talk.services, talk.user_id
    await services.briefing_plans.turn_on(user_id, talk.clock())
    planned = (await services.briefing_plans.get(user_id)).next
    assert planned
    name = briefing_name(user_id, planned.day)
    status = await pause.engage(services.signals, services.sweeps, user_id, talk.clock)
    assert (status.state, status.receipt and status.receipt.waiting) == ("paused", (name,))
    talk.clock.advance(planned.at + 1 - talk.clock())
    assert await begin_if_due(services, user_id) == "braked"
    status = await pause.release(services.signals, services.sweeps, user_id, talk.clock)
    assert status.receipt
    assert status.receipt.stopped == (name,)
    assert name not in status.receipt.waiting


# --- every workflow ---------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize("whose", ["its user", EVERYBODY])
@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
@pytest.mark.thorough
async def test_every_state_machine_stops_and_is_listed_in_the_receipt(
    talk: Talk, workflow: Workflow, whose: str
) -> None:
    services, user_id = talk.services, talk.user_id
    states = [state for side in workflow.sides for state in workflow.load_states(side).values()]
    stopped = [each for each in states if not each.ignores_brake]
    assert stopped
    braked = EVERYBODY if whose == EVERYBODY else user_id
    for state in stopped:
        given = state.model.model_validate({**minimal_input(state.model), "user_id": user_id})
        await pause.engage(services.signals, services.sweeps, braked, talk.clock)
        with pytest.raises(Braked):
            await state(services, given)
        status = await pause.release(services.signals, services.sweeps, braked, talk.clock)
        assert status.receipt
        talk.clock.advance(1)
        # The receipt is kept after the release.
        status = await pause.status(services.signals, services.sweeps, braked, talk.clock)
        assert (status.state, status.receipt and status.receipt.stopped) == ("running", (given.run_name,))


def test_a_name_in_the_receipt_is_a_run_id_or_an_id_with_a_unique_prefix() -> None:
    models = {state.model for each in WORKFLOWS for side in each.sides for state in each.load_states(side).values()}
    inputs = [each.model_validate(minimal_input(each)) for each in models if issubclass(each, UserState)]
    prefixes = list[str]()
    for given in inputs:
        if given.run_name != given.run_id:
            prefix, _, identifier = given.run_name.partition("-")
            assert identifier in [value for name, value in given.out.items() if name != "user_id"], given
            prefixes.append(prefix)
    assert "" not in prefixes
    assert len({*prefixes}) == len(prefixes), prefixes


@pytest.mark.thorough
@pytest.mark.anyio
async def test_a_running_state_is_stopped_and_listed_but_not_a_finished_one(talk: Talk) -> None:
    services, user_id = talk.services, talk.user_id
    async with pause.named_run(services.runs, user_id, "memories-ended", talk.clock):
        pass
    begun = asyncio.Event()

    async def endless() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def running() -> None:
        async with pause.named_run(services.runs, user_id, "memories-c1", talk.clock):
            await pause.run_unless_paused(services.signals, user_id, endless())

    run = asyncio.ensure_future(running())
    await begun.wait()
    status = await pause.engage(services.signals, services.sweeps, user_id, talk.clock)
    with pytest.raises(Braked):
        await run
    assert (status.state, status.receipt) == ("paused", pause.Receipt(stopped=("memories-c1",)))


# --- nothing is lost --------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize("whose", ["its user", EVERYBODY])
async def test_an_extraction_postponed_by_the_brake_is_due_at_its_release(talk: Talk, whose: str) -> None:
    services, braked = talk.services, EVERYBODY if whose == EVERYBODY else talk.user_id
    await talk.says("I live in Lisbon.")
    talk.clock.advance(SILENCE_SECONDS)
    await pause.engage(services.signals, services.sweeps, braked, talk.clock)
    assert (await extract_writer.sweep(services, ConversationsToRead())).conversations == ()
    await pause.release(services.signals, services.sweeps, braked, talk.clock)
    [picked] = (await extract_writer.sweep(services, ConversationsToRead())).conversations
    assert picked["conversation_id"] == "c1"


# --- actions without an approval --------------------------------------------------------------------------------------


async def standing(services: Any, user_id: str, clock: Any) -> pause.Receipt:
    receipt = (await pause.status(services.signals, services.sweeps, user_id, clock)).receipt
    assert receipt
    return receipt


def keeping(app: CandidateAppServer, talk: Talk) -> tuple[Any, ResumeState]:
    """Services that use this candidate app, and a résumé that was read."""
    api = replace(talk.services.candidate_app, base_url=app.url, secret=API_SECRET)
    return replace(talk.services, candidate_app=api), ResumeState(user_id=talk.user_id, resume_id="res1")


@pytest.fixture
def app(mongodb_uri: str, database_name: str, talk: Talk) -> Iterator[CandidateAppServer]:
    with CandidateAppServer(mongodb_uri, database_name, API_SECRET, talk.clock) as app:
        yield app


async def has_read(talk: Talk) -> None:
    record = ResumeRecord(
        id="res1",
        user_id=talk.user_id,
        run_id="r1",
        name="cv.pdf",
        text="Led sales.",
        label="",
        created_at=talk.clock(),
        updated_at=talk.clock(),
    )
    await talk.services.resumes.add(record)


@pytest.mark.thorough
@pytest.mark.anyio
@pytest.mark.parametrize("fault", ["hold_before", "hold_after"])
async def test_a_document_being_sent_is_listed_as_unknown_until_the_candidate_app_confirms(
    talk: Talk, app: CandidateAppServer, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    monkeypatch.setattr(pause, "PATIENCE_SECONDS", 0.3)
    services, given = keeping(app, talk)
    await has_read(talk)
    app.misbehave(fault)
    sending = asyncio.ensure_future(keep_document(services, given))
    await asyncio.to_thread(until, lambda: app.api.held)
    status = await pause.engage(services.signals, services.sweeps, talk.user_id, talk.clock)
    assert (status.state, status.receipt) == ("partial", pause.Receipt(unknown=("document-res1",)))
    app.api.release()
    assert (await sending).is_kept
    assert await standing(services, talk.user_id, talk.clock) == pause.Receipt(finished=("document-res1",))


@pytest.mark.anyio
@pytest.mark.parametrize("fault", ["drop_before", "drop_after"])
async def test_a_document_with_a_lost_response_is_looked_up_by_its_key_despite_the_brake(
    talk: Talk, app: CandidateAppServer, fault: Fault
) -> None:
    services, given = keeping(app, talk)
    await has_read(talk)
    app.misbehave(fault)
    with pytest.raises(OutcomeUnknown):
        await keep_document(services, given)
    await pause.engage(services.signals, services.sweeps, talk.user_id, talk.clock)
    assert await standing(services, talk.user_id, talk.clock) == pause.Receipt(unknown=("document-res1",))
    if fault == "drop_after":
        assert (await keep_document(services, given)).is_kept
        expected = pause.Receipt(finished=("document-res1",))
    else:
        with pytest.raises(OutcomeUnknown):  # it may still arrive
            await keep_document(services, given)
        talk.clock.advance(LEFT_BEHIND_SECONDS)
        with pytest.raises(Braked):
            await keep_document(services, given)
        expected = pause.Receipt(stopped=("document-res1", "resume-res1"))
    assert await standing(services, talk.user_id, talk.clock) == expected
    sent = [each for each in app.api.requests if each["method"] == "PUT"]
    assert len(sent) == 1


class HeldMail:
    """Sends mail once it is released."""

    def __init__(self) -> None:
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def send(self, *_: Any, **__: Any) -> None:
        self.asked.set()
        await self.go.wait()


@pytest.mark.thorough
@pytest.mark.anyio
async def test_a_briefing_being_mailed_is_listed_as_unknown_until_sent(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pause, "PATIENCE_SECONDS", 0.3)
    mail = HeldMail()
    settings = replace(talk.services.settings, mail_from="Qwestly <agent@qwestly.example>")
    services: Any = replace(talk.services, mail=mail, settings=settings)
    await services.conversations.database["candidates_enhanced"].insert_one(
        {"_id": talk.user_id, "user_id": talk.user_id, "email": "maya@example.com"}
    )
    await services.briefing_plans.change(talk.user_id, {"on": True}, talk.clock())
    await add_memory(services, talk.user_id, talk.clock())
    given = BriefingState(user_id=talk.user_id, run_id="brief-1", briefing_id="brief-1", day="2026-11-23")
    delivering = asyncio.ensure_future(deliver(services, await gather(services, given)))
    asked = asyncio.ensure_future(mail.asked.wait())
    await asyncio.wait([asked, delivering], return_when=asyncio.FIRST_COMPLETED)
    assert mail.asked.is_set(), "a mail is sent"
    status = await pause.engage(services.signals, services.sweeps, talk.user_id, talk.clock)
    assert status.receipt == pause.Receipt(unknown=("mail-brief-1",), running=("brief-1",))
    mail.go.set()
    await delivering
    assert await standing(services, talk.user_id, talk.clock) == pause.Receipt(finished=("brief-1", "mail-brief-1"))
    assert (await services.briefings.get(talk.user_id, "brief-1")).mailed == "sent"
