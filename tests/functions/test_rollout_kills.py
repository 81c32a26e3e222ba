"""Wherever a process dies during a turn of a trial, the turn is counted once."""

import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

import pytest

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.base.errors import NotFound
from qwestly_agent.bootstrap import bootstrap_chat
from qwestly_agent.chat.run_turn import run_turn
from qwestly_agent.chat.services import ChatServices
from qwestly_agent.chat.turn_approvals import Caller
from qwestly_agent.chat.turn_request import TurnRequest
from qwestly_agent.chat.turn_store import TurnStore
from qwestly_agent.domain.rollout import Rollout, begin_trial
from qwestly_agent.platform.collection import Document
from tests.killing import Death, Killed, deaths, mortal
from tests.servers import FakeClock, settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.thorough]


@dataclass
class Person:
    services: ChatServices
    clock: FakeClock
    user_id: str

    async def says(self, text: str, services: ChatServices | None = None) -> None:
        own = services or self.services
        request = TurnRequest("ai_sdk", "c1", text, f"m{uuid.uuid4().hex}", likely_new=text == "first")
        turn = await TurnStore(own).open(self.user_id, request, self.clock() + 60, Caller("", "test"))
        async for _ in run_turn(own, turn):
            pass

    async def is_counted(self) -> Document:
        [found] = await self._documents("agent_variant_counts")
        return {name: found.get(name, 0) for name in ("conversations", "turns", "failed")}

    async def began(self) -> bool:
        try:
            await self.services.conversations.get(self.user_id, "c1")
        except NotFound:
            return False
        return True

    async def _documents(self, name: str) -> list[Document]:
        return await self.services.conversations.database[name].find({"user_id": self.user_id}).to_list()


@pytest.fixture
async def services(mongodb_uri: str, database_name: str, model: ModelServer) -> AsyncIterator[ChatServices]:
    made = await bootstrap_chat(settings_for(mongodb_uri, model.base_url, database_name), clock=FakeClock())
    # All users are in the trial: half have the variant.
    await made.rollouts.change(lambda _: begin_trial(Rollout(), "brief", ("chat",), 50, 0.0, "t1", ""))
    yield made
    await made.close()


def somebody(services: ChatServices) -> Person:
    assert isinstance(services.clock, FakeClock)
    return Person(services, services.clock, f"auth0|{uuid.uuid4().hex}")


async def writes_of_a_turn(services: ChatServices, *, first: bool) -> int:
    person, death = somebody(services), Death()
    if not first:
        await person.says("first")
    await person.says("first" if first else "then", mortal(services, death))
    return death.writes


@pytest.mark.nightly
@pytest.mark.parametrize("is_first", [True, False], ids=["the first turn", "a later turn"])
async def test_a_turn_killed_at_any_write_is_counted_once(
    services: ChatServices, model: ModelServer, is_first: bool
) -> None:
    writes = await writes_of_a_turn(services, first=is_first)
    assert writes > 5
    failed = 0
    for death in deaths(writes):
        person = somebody(services)
        if not is_first:
            await person.says("first")
        model.script(Reply(text="Fine."))
        with suppress(Killed):
            await person.says("first" if is_first else "then", mortal(services, death))
        if not death.came:  # the half-second write was not due
            continue
        had_begun = await person.began() and death.writes > 0
        person.clock.advance(10)
        turns_before = 0 if is_first else 1
        for number in (1, 2):
            model.script(Reply(text="Fine."))
            await person.says(f"again {number}")
        counted = await person.is_counted()
        failed += counted["failed"]
        claimed = had_begun if is_first else not is_before_the_claim(death)
        assert (counted["conversations"], counted["turns"]) == (1, turns_before + claimed + 2), death
        assert counted["failed"] <= claimed, death
    assert failed > 2


def is_before_the_claim(death: Death) -> bool:
    """The claim and the count of running turns are the first two writes, made concurrently."""
    return death.at == 1 and not death.after
