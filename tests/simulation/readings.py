"""The story of conversations that are read for memories, by executions that ask about what is sensitive."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from qwestly_agent.container import states_of
from qwestly_agent.domain.approval import KEEPS_MEMORIES
from qwestly_agent.domain.memory import MemorySource
from qwestly_agent.memory.notes import Note, NoteDecision
from qwestly_agent.stores import memories
from qwestly_agent.stores.memories import READABLE
from qwestly_agent.stores.memory_work import Batch
from tests.simulation.executions import Execution, ExecutionStory
from tests.simulation.memories import Fact, MemoryStory
from tests.simulation.story import SKEW, Story, written

ASKED = ("conversation_id", "batch_id", "memory_ids", "run_id")
"""What of its input the machine gives to the state that asks."""
READS = states_of("extract_memories", "writer")


@dataclass
class ReadingStory(Story):
    memories: MemoryStory
    executions: ExecutionStory

    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return ((2, self.read),)

    # --- what happens ---

    def read(self) -> None:
        """A conversation was read, which says something new, or something that was said before."""
        tab, number = self.memories.chats.tab(), len(self.executions.executions) + 1
        known = [each for each in self.memories.facts if each.person == tab.person]
        is_new = not known or self.choices.number(3) > 0
        is_sensitive = self.choices.number(3) > 0
        fact = self.memories.new_fact(tab.person, is_sensitive=is_sensitive) if is_new else self.choices.one(known)
        given = {"conversation_id": tab.where, "batch_id": f"ex_{number}", "run_id": f"read-{number}"}
        execution = Execution(number, tab.person.id, given, "extract_memories", READS)
        self.executions.begin(execution, partial(self._run, execution, fact))

    async def _run(self, execution: Execution, fact: Fact) -> None:
        found = self.executions.found("found", execution, partial(_found, execution=execution, fact=fact))
        texts = {each.get("content") for each in self.world.table(memories.COLLECTION).values()}
        if not fact.said or fact.text in texts:  # else it is gone, and who stores it finds its tombstone
            fact.said.append(found)
        await found.over
        until_done, state = self.executions.until_done, execution.given
        stored = await until_done("store", execution, state, note=fact.read.append)
        if isinstance(stored, str):
            await until_done("retry_later", execution, {**state, "error": {"Error": stored}})
            return
        await until_done("move_watermark", execution, stored)
        if stored["proposed"]:
            execution.given = {name: stored[name] for name in ASKED}
            answered = await self.executions.ask(execution, None)
            given = {"error": {"Error": answered}} if isinstance(answered, str) else answered
            kept = await until_done("keep_approved", execution, {**stored, **given}, tries=20)
            execution.end = kept if isinstance(kept, str) else kept["end"]

    # --- what must hold ---

    def check(self) -> Iterator[str]:
        yield from self._declined()
        yield from self._read_again()

    def _declined(self) -> Iterator[str]:
        """What its person declined leaves a tombstone, and nothing waits for a question that nobody asks."""
        questions = [each for each in self.world.approvals if each.tool == KEEPS_MEMORIES]
        declined = set[str]()
        for each in questions:
            if each.status == "rejected" and not each.is_unfinished and each.args != "{}":
                declined.update(each.arguments["memory_ids"])
        for key, versions in self.world.versions[memories.COLLECTION].items():
            first, last = versions[0].process, versions[-1]
            if any(each.process is None or each.process.faults or each.process.is_dead for each in versions):
                continue
            was_proposed = written(versions)[-1][1]["status"] == "proposed"
            if not was_proposed:
                continue
            if last.document and key in declined:
                yield f"{key[:9]} was declined, and still waits"
            elif last.document and first and first.result and not any(key in each.args for each in questions):
                yield f"{key[:9]} waits for a question that nobody asked"
            is_ended = last.process and last.process.name.startswith(("correct", "erase", "act for erase"))
            if last.document is None and key in declined and not is_ended:
                yield f"{key[:9]} was declined, and left no tombstone"

    def _read_again(self) -> Iterator[str]:
        """What was forgotten, undone or declined is not learnt again from a conversation."""
        gone: dict[tuple[str, str], float] = {}
        for versions in self.world.versions[memories.COLLECTION].values():
            history = written(versions)
            at = next((at for at, each in history if each["status"] == "forgotten"), None)
            text = next((each["content"] for _, each in history if each.get("content")), "")
            if at is not None and history[-1][1]["status"] == "forgotten":
                place = history[0][1]["user_id"], text
                gone[place] = min(gone.get(place, at), at)
        for key, versions in self.world.versions[memories.COLLECTION].items():
            process, last = versions[0].process, versions[-1].document
            if not (last and last["status"] in READABLE and process and process.name.startswith("store of")):
                continue
            since = gone.get((last["user_id"], last["content"]), float("inf"))
            if process.begun > since + SKEW and not process.faults:
                yield f"{key[:9]} was forgotten, and learnt again"


async def _found(services: Any, execution: Execution, fact: Fact) -> None:
    """What the reader leaves: a note that a judge has checked."""
    now, where = services.clock(), execution.given["conversation_id"]
    if not await services.conversations.exists(execution.user_id, where):
        return
    note = Note(
        type="fact",
        content=fact.text,
        quote=fact.text,
        context=fact.text,
        trust="user_said",
        importance=0.5,
        confidence=1.0,
        sensitive=fact.is_sensitive,
        said_at=now,
        source=MemorySource(conversation_id=where, message_ids=(f"m-read-{execution.number}",)),
        is_checked=True,
    )
    [vector] = await services.embeddings.embed([fact.text])
    decision = NoteDecision(verb="add", note=note, ask=fact.is_sensitive)
    batch = Batch(
        id=execution.given["batch_id"],
        user_id=execution.user_id,
        conversation_id=where,
        run_id=execution.given["run_id"],
        read_from=0,
        read_to=0,
        status="decided",
        found=[note.model_dump(mode="json")],
        decisions=[decision.model_dump(mode="json")],
        vectors=(tuple(vector),),
        created_at=now,
    )
    await services.extractions.add(batch)
