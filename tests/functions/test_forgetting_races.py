"""Forgotten content stays forgotten and erased users stay erased, whatever runs at the same time."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator

import pytest

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.account import erase
from qwestly_agent.base.errors import Braked, NotFound
from qwestly_agent.memory import extract_reader, extract_writer, reconcile
from qwestly_agent.memory.forget import forget
from qwestly_agent.memory.model import ExtractionState
from qwestly_agent.stores.memory_work import Extractions
from qwestly_agent.stores.messages import NewTurn
from tests.functions.talking import Talk, finds, note, relates, talking
from tests.functions.test_forgetting import chatting, kept_of, last_prompt
from tests.servers import user_says

pytestmark = [pytest.mark.anyio, pytest.mark.thorough]
ACME = "I worked at Acme as a nurse until 2019."


@pytest.fixture
async def talk(mongodb_uri: str, database_name: str, model: ModelServer) -> AsyncIterator[Talk]:
    async with talking(mongodb_uri, database_name, model) as talk:
        yield talk


async def acme(talk: Talk) -> str:
    """Return a memory that was said and extracted."""
    await talk.says(ACME)
    await talk.falls_silent()
    return (await talk.memory("Worked at Acme as a nurse until 2019.")).id


@pytest.mark.thorough
async def test_a_turn_running_while_its_memory_was_forgotten_is_in_no_later_prompt(
    talk: Talk, mongodb_uri: str
) -> None:
    memory_id = await acme(talk)
    with chatting(talk, mongodb_uri) as client:
        conversation_id = client.say("Hello.").conversation_id
        talk.model.script(Reply(text=["At Acme", " you were a nurse."], hold_after=1))
        asking = threading.Thread(target=client.say, args=("What did I do at Acme?", conversation_id))
        asking.start()
        talk.model.wait_until_held()
        await forget(talk.services, talk.user_id, [memory_id])
        talk.model.release()
        asking.join()
        client.say("Hello again.", conversation_id)
        assert "Acme" not in last_prompt(talk)


@pytest.mark.sentinel
@pytest.mark.thorough
async def test_a_message_right_after_a_forgetting_is_not_withheld(talk: Talk, mongodb_uri: str) -> None:
    memory_id = await acme(talk)
    with chatting(talk, mongodb_uri) as client:
        await forget(talk.services, talk.user_id, [memory_id])
        talk.clock.advance(1)
        conversation_id = client.say("I speak German.").conversation_id
        client.say("Hello.", conversation_id)
        assert "I speak German." in last_prompt(talk)
    await talk.falls_silent()
    assert await talk.remembered() == ["Speaks German."]


async def test_the_text_of_a_killed_turn_is_withheld_too(talk: Talk, mongodb_uri: str) -> None:
    memory_id = await acme(talk)
    talk.clock.advance(1)
    await talk.services.conversations.claim(talk.user_id, "c1", NewTurn("dead", "m9", f"Again: {ACME}", talk.clock()))
    talk.clock.advance(60)
    await forget(talk.services, talk.user_id, [memory_id])
    talk.clock.advance(60)
    with chatting(talk, mongodb_uri) as client:
        client.say("Hello again.", "c1")
        assert "Acme" not in last_prompt(talk)
    await talk.falls_silent()
    assert await talk.remembered() == []


async def test_a_forgotten_exchange_cannot_be_regenerated(talk: Talk, mongodb_uri: str) -> None:
    with chatting(talk, mongodb_uri) as client:
        events = client.say_ai_sdk("c1", user_says(ACME, "u1"))
        await talk.falls_silent()
        memory = await talk.memory("Worked at Acme as a nurse until 2019.")
        await forget(talk.services, talk.user_id, [memory.id])
        asked = len(talk.asked("/chat/completions"))
        again = {"id": "c1", "messages": [user_says(ACME, "u1")], "trigger": "regenerate-message"}
        response = client.request("POST", "/api/chat", json=again)
        assert (response.status_code, response.json()["error"]["code"]) == (409, "changed")
        assert len(talk.asked("/chat/completions")) == asked
        assert events[-1].name == "[DONE]"


@pytest.mark.thorough
@pytest.mark.parametrize("late", [False, True], ids=["before it is stored", "while it is stored"])
async def test_an_extraction_begun_before_a_forgetting_does_not_store_it_afterwards(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    memory_id = await acme(talk)
    await talk.says(ACME, "I speak German.", conversation_id="c2")
    quotes = (note("Was a nurse until 2019.", ACME.rstrip(".")), note("Speaks German.", "I speak German", "m2"))
    talk.model.script(finds(*quotes))
    step = ExtractionState(user_id=talk.user_id, conversation_id="c2", run_id="r")
    for state in (extract_reader.extract, reconcile.reconcile):
        step = await state(talk.services, step)
    if late:  # the state has read what it stores

        async def too_late(*_: object) -> None:
            pass

        monkeypatch.setattr(Extractions, "delete_unstored", too_late)
    await forget(talk.services, talk.user_id, [memory_id])
    if late:
        await extract_writer.store(talk.services, step)
    else:
        with pytest.raises(NotFound):  # and it is extracted again
            await extract_writer.store(talk.services, step)
        await talk.is_read(ExtractionState(user_id=talk.user_id, conversation_id="c2", run_id="r"))
    assert await talk.remembered() == ["Speaks German."]
    assert "user_memories" not in await kept_of(talk, "Acme")


@pytest.mark.thorough
@pytest.mark.parametrize("states", [1, 2, 3])
@pytest.mark.parametrize("leaves", [True, False], ids=["erased", "deleted"])
async def test_an_erasure_during_extraction_leaves_nothing(talk: Talk, states: int, leaves: bool) -> None:
    await talk.says(ACME, "I speak German.")
    step = ExtractionState(user_id=talk.user_id, conversation_id="c1", run_id="r")
    all_states = (extract_reader.extract, reconcile.reconcile, extract_writer.store)
    for state in all_states[:states]:
        step = await state(talk.services, step)
    if leaves:
        await erase(talk.services, talk.user_id)
    else:
        await talk.services.extractions.delete_unstored(talk.user_id, "c1")
        await talk.services.conversations.delete(talk.user_id, "c1")
        await forget(talk.services, talk.user_id, [each.id for each in await talk.memories()])
    for state in all_states[states:]:
        with pytest.raises(NotFound):
            await state(talk.services, step)
    assert await kept_of(talk, "Acme") == set()


async def test_an_erasure_during_the_models_call_leaves_no_memory(talk: Talk) -> None:
    await talk.says(ACME)
    step = ExtractionState(user_id=talk.user_id, conversation_id="c1", run_id="r")
    find = extract_reader.find_notes
    leaving: list[asyncio.Future[dict[str, int]]] = []

    async def and_meanwhile(*args: object) -> object:
        judged = await find(*args)  # type: ignore[arg-type]
        leaving.append(asyncio.ensure_future(erase(talk.services, talk.user_id)))
        await asyncio.shield(leaving[0])
        return judged

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extract_reader, "find_notes", and_meanwhile)
        # An erasure pulls the brake first, which stops the extraction if it checks the brake in time.
        with pytest.raises((NotFound, Braked)):
            await extract_reader.extract(talk.services, step)
    await leaving[0]
    assert await kept_of(talk, "Acme") == set()


# --- pending memories -------------------------------------------------------------------------------------------------


async def test_a_memory_awaiting_approval_is_in_no_prompt_and_not_superseded(talk: Talk) -> None:
    await talk.says("I was diagnosed with diabetes in 2019.")
    await talk.falls_silent()
    await talk.says("I was diagnosed with diabetes in 2021.", conversation_id="c2")
    talk.model.script(
        finds(note("Was diagnosed with diabetes in 2021.", "I was diagnosed with diabetes in 2021", sensitive=True)),
        relates(("p1", "contradicts", "Was diagnosed", "Was diagnosed")),
    )
    talk.model.forget_requests()
    await talk.falls_silent()
    assert not [each for each in talk.asked("/chat/completions") if "2019" in json.dumps(each.json)]
    assert len(await talk.remembered("proposed")) == 2
