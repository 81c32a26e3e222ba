"""Conversations as the chat stores them, and the workflow states that read them, over real servers."""

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from infra.local.model_answers import ToolCall
from infra.local.model_controls import RecordedRequest
from infra.local.model_server import ModelServer, Reply
from infra.mongo.indexes import INDEXES
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.bootstrap import bootstrap_models
from qwestly_agent.domain.memory import Memory
from qwestly_agent.memory.extract_reader import extract
from qwestly_agent.memory.extract_writer import ConversationsToRead, move_watermark, store, sweep
from qwestly_agent.memory.model import ExtractionState
from qwestly_agent.memory.reconcile import reconcile
from qwestly_agent.services import ModelServices, Services
from qwestly_agent.stores.conversations import SILENCE_SECONDS
from qwestly_agent.stores.memories import COLLECTION
from qwestly_agent.stores.messages import Message, NewTurn, user_message
from tests.servers import USER, FakeClock, settings_for

Said = str | tuple[str, str]
"""The user's message, or the preceding message of the agent and the user's."""


@dataclass
class Talk:
    """One user's conversations, on a clock that only a test advances."""

    services: ModelServices
    clock: FakeClock
    model: ModelServer
    user_id: str = USER
    turns: int = field(default=0, init=False)

    async def says(self, *said: Said, conversation_id: str = "c1") -> None:
        """Play one turn per message, each answered with a word."""
        for each in said:
            before, text = each if isinstance(each, tuple) else ("", each)
            if before:
                await self._turn(conversation_id, "Go on.", before)
            await self._turn(conversation_id, text, "I see.")

    async def _turn(self, conversation_id: str, text: str, answer: str) -> None:
        self.turns += 1
        self.clock.advance(1)
        conversations, run_id = self.services.conversations, f"run{self.turns}"
        turn = NewTurn(run_id, f"msg{self.turns}", text, self.clock())
        claim = await conversations.create(self.user_id, conversation_id, turn, "default") or (
            await conversations.claim(self.user_id, conversation_id, turn)
        )
        seq = claim.last_seq + 1
        answered = Message(
            id=f"msg_{run_id}",
            run_id=run_id,
            seq=seq + 1,
            role="assistant",
            content=answer,
            created_at=to_datetime(self.clock()),
        )
        messages = [user_message(turn, seq, "complete"), answered]
        assert await conversations.finish(claim, messages, replaced_run=None, changes={}, now=self.clock())

    async def falls_silent(self) -> list[ExtractionState]:
        """Advance the clock by ten minutes and extract every due conversation."""
        self.clock.advance(SILENCE_SECONDS)
        due = await sweep(self.services, ConversationsToRead())
        return [await self.is_read(ExtractionState.model_validate(each)) for each in due.conversations]

    async def is_read(self, step: ExtractionState | None = None) -> ExtractionState:
        step = step or ExtractionState(user_id=self.user_id, conversation_id="c1", run_id="r1")
        step = await extract(self.services, step)
        step = await reconcile(self.services, step)
        step = await store(self.services, step)
        return await move_watermark(self.services, step)

    async def remembered(self, status: str = "active") -> list[str]:
        return sorted(each.content for each in await self.memories(status))

    async def memories(self, status: str = "active") -> list[Memory]:
        return await self.services.memories.newest(self.user_id, 100, status=status)

    async def memory(self, content: str) -> Memory:
        [found] = [each async for each in self.services.memories.iterate(self.user_id) if each.content == content]
        return found

    async def raw(self, **query: Any) -> list[dict[str, Any]]:
        database = self.services.memories.database
        return await database[COLLECTION].find({"user_id": self.user_id, **query}).to_list()

    def asked(self, path: str) -> list[RecordedRequest]:
        return [each for each in self.model.requests if each.path.endswith(path)]


@asynccontextmanager
async def talking(mongodb_uri: str, database: str, model: ModelServer, **settings: Any) -> AsyncIterator[Talk]:
    clock = FakeClock()
    services = await bootstrap_models(settings_for(mongodb_uri, model.base_url, database, **settings), clock=clock)
    try:
        for collection, indexes in INDEXES.items():
            await services.mongo[database][collection].create_indexes(indexes)
        yield Talk(services, clock, model)
    finally:
        await services.close()


async def add_memory(services: Services, user_id: str, now: float, content: str = "") -> str:
    """Store a distinct memory; return its id."""
    memory_id = f"mem_{uuid.uuid4().hex}"
    memory = Memory(id=memory_id, type="fact", content=content or f"Likes {memory_id}.", quote=content)
    await services.memories.add(user_id, memory, memory_id, [1.0], now)
    return memory_id


def found(*notes: dict[str, Any]) -> ToolCall:
    """Return a model's output with these notes."""
    return {"name": "final_result", "arguments": {"memories": list(notes)}}


def note(content: str, quote: str, message_id: str = "m1", **more: Any) -> dict[str, Any]:
    return {"type": "fact", "content": content, "quote": quote, "message_id": message_id, **more}


def finds(*notes: dict[str, Any]) -> Reply:
    return Reply(tool_calls=[found(*notes)], to="You note what is worth remembering")


def relates(*given: Sequence[str]) -> Reply:
    """Return relations of pairs, with the quotes of both notes that each relation is based on."""
    each = [dict(zip(("id", "relation", "quote", "new_quote"), words, strict=False)) for words in given]
    return Reply(
        tool_calls=[{"name": "final_result", "arguments": {"verdicts": each}}], to="You compare notes about one person"
    )


def judges(*supported: bool) -> Reply:
    """Return a judge's verdicts in order; a yes has a quote that the scripted judge finds."""
    verdicts = [{"id": n, "why": "No."} for n, yes in enumerate(supported) if not yes]
    return Reply(tool_calls=[{"name": "final_result", "arguments": {"verdicts": verdicts}}], to=JUDGE)


WISH_JUDGE = "An assistant wants to change one thing"


def wishes(quote: str, **more: Any) -> Reply:
    """Return the quote found by the judge of wishes; empty if the message requests no change."""
    return Reply(tool_calls=[{"name": "final_result", "arguments": {"quote": quote}}], to=WISH_JUDGE, **more)


JUDGE = "You are the second reader"
NO_JUDGE = tuple([Reply(fault=503, to=JUDGE)] * 4)
"""No judge responds, however often the clients retry."""
