"""The story of conversations that are read for memories, by executions that ask about what is sensitive."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from qwestly_agent.container import states_of
from qwestly_agent.domain.approval import KEEPS_MEMORIES
from qwestly_agent.domain.memory import MemorySource
from qwestly_agent.memory.notes import Note
from qwestly_agent.stores import conversations, memories
from qwestly_agent.stores.memories import READABLE
from qwestly_agent.stores.memory_work import Batch
from tests.simulation.agent import in_one_wording
from tests.simulation.chats import Tab
from tests.simulation.executions import Execution, ExecutionStory
from tests.simulation.memories import Fact, MemoryStory
from tests.simulation.story import SKEW, Story, were, written

ASKED = ("conversation_id", "batch_id", "memory_ids", "run_id")
"""What of its input the machine gives to the state that asks."""
READS, WRITES = states_of("extract_memories", "reader"), states_of("extract_memories", "writer")
MOST_QUESTIONS = 1
"""Fewer than the real three, so that a schedule joins some."""
ENDS_MEMORIES = ("correct", "forget", "undo", "turn ", "erase", "act for erase")
"""How the names of processes begin that take out a memory about which a question waits, and end the question."""


@dataclass
class ReadingStory(Story):
    memories: MemoryStory
    executions: ExecutionStory

    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return ((3, self.read), (3, self.read_again), (3, self.forget_and_read), (2, self.read_otherwise))

    # --- what happens ---

    def read(self) -> bool | None:
        """A conversation was read, which says something new."""
        if not (tab := self._some_tab()):
            return False
        self._begin(tab, self.memories.new_fact(tab.person, is_sensitive=self.choices.number(3) > 0))
        if self.choices.number(4) == 1:  # and deleted at that moment
            gap = self.choices.one((0.05, 0.1, 0.2, 0.3))

            async def run() -> None:
                await asyncio.sleep(gap)
                self.memories.chats.delete(tab)

            self.stage.go_on(run())
        return None

    def read_again(self) -> bool | None:
        """A conversation was read, which says something that was said before, perhaps in other words."""
        if not (tab := self._some_tab(self.memories.facts)):
            return False
        known = [each for each in self.memories.facts if each.person == tab.person]
        gone = [each for each in known if each.forgotten or each.undone]
        fact = self.choices.one(gone or known)
        self._begin(tab, self.memories.reworded(fact) if self.choices.number(2) else fact)
        return None

    def forget_and_read(self) -> bool | None:
        """Something is forgotten or undone, and a conversation is read that says it, perhaps in other words."""
        if not (tab := self._some_tab(self.memories.active())):
            return False
        found = self.memories.some_of(tab.person)
        self.choices.one((self.memories.forget, self.memories.undo))(found)

        async def run() -> None:
            await asyncio.sleep(self.choices.one((12.0, 61.0)))
            if tab.person.id not in self.stage.leaving:
                self._begin(tab, self.memories.reworded(found[1]) if self.choices.number(4) != 1 else found[1])

        self.stage.go_on(run())
        return None

    def read_otherwise(self) -> bool | None:
        """A conversation was read, which says that something is no longer so: something new, or known, is."""
        active = self.memories.active()
        if not (tab := self._some_tab(active)):
            return False
        active = [each for each in active if each.person == tab.person]
        sensitive = [each for each in active if each.is_sensitive]
        older, newer = self.choices.one(active), self.choices.one(sensitive or active)
        if older is newer or not self.choices.number(3):
            newer = self.memories.new_fact(tab.person, is_sensitive=self.choices.number(2) > 0, replaces=older)
        self.memories.takes_place(newer, older)
        self._begin(tab, newer)
        return None

    def _some_tab(self, facts: Sequence[Fact] | None = None) -> Tab | None:
        """A tab of a conversation that there is, of somebody of whom one of these is known."""
        there, people = self.world.table(conversations.COLLECTION).keys(), [each.person for each in facts or ()]
        tabs = [each for each in self.memories.chats.tabs.values() if f"{each.person.id}:{each.where}" in there]
        tabs = [each for each in tabs if each.person.id not in self.stage.leaving]
        tabs = [each for each in tabs if facts is None or each.person in people]
        return self.choices.one(tabs) if tabs else None

    def _begin(self, tab: Tab, fact: Fact) -> None:
        number = len(self.executions.executions) + 1
        given = {"conversation_id": tab.where, "batch_id": f"ex_{number}", "run_id": f"read-{number}"}
        execution = Execution(number, tab.person.id, given, "extract_memories", WRITES)
        self.executions.begin(execution, partial(self._run, execution, fact))

    async def _run(self, execution: Execution, fact: Fact) -> None:
        found = self.executions.found("found", execution, partial(_found, execution=execution, fact=fact))
        texts = {each.get("content") for each in self.world.table(memories.COLLECTION).values()}
        if not fact.said or fact.text in texts:  # else it is gone, and who stores it finds its tombstone
            fact.said.append(found)
        await found.over
        until_done, state = self.executions.until_done, execution.given
        compared = await until_done("reconcile", replace(execution, states=READS), state)
        if isinstance(compared, str):
            await until_done("retry_later", execution, {**state, "error": {"Error": compared}})
            return
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
        yield from self._approved()
        yield from self._asked_until_decided()
        yield from self._replaces_nothing_unasked()

    def _declined(self) -> Iterator[str]:
        """What its person declined leaves a tombstone, and nothing waits for a question that nobody asks."""
        questions = [each for each in self.world.approvals if each.tool == KEEPS_MEMORIES]
        declined = set[str]()
        for each in questions:
            if each.status == "rejected" and not each.is_unfinished and each.args != "{}":
                declined.update(each.arguments["memory_ids"])
        for key, versions in self.world.versions[memories.COLLECTION].items():
            first, last = versions[0].process, versions[-1]
            if written(versions)[0][1]["user_id"] in self.stage.leaving:
                continue
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

    def _approved(self) -> Iterator[str]:
        """What its person approved is remembered, unless it was forgotten or corrected since."""
        for versions in self.world.records.values():
            history = written(versions)
            first, done = history[0][1], next(((at, each) for at, each in history if each["status"] == "done"), None)
            if first["tool"] != KEEPS_MEMORIES or done is None:
                continue
            for memory_id in json.loads(first["args"])["memory_ids"]:
                known = self.world.versions[memories.COLLECTION].get(memory_id, [])
                if known and all(each.document and each.document["status"] == "proposed" for each in known):
                    yield f"{memory_id[:9]} was approved, and still waits"

    def _asked_until_decided(self) -> Iterator[str]:
        """A memory stays for as long as a question about it waits."""
        for key, versions in self.world.versions[memories.COLLECTION].items():
            for at, document, process in versions:
                if document or (process and process.name.startswith(ENDS_MEMORIES)):
                    continue
                for record_id, records in self.world.records.items():
                    [asked] = were([(each.at, each.document) for each in records], at, at) or [None]
                    if asked and asked["status"] == "pending" and key in asked["args"] and records[0].at < at:
                        yield f"{key[:9]} is gone, and {record_id[:9]} asks about it"

    def _replaces_nothing_unasked(self) -> Iterator[str]:
        """What is sensitive takes the place of nothing before its person has approved it."""
        sensitive = {each for fact in self.memories.facts if fact.is_sensitive for each in fact.read}
        for key, versions in self.world.versions[memories.COLLECTION].items():
            for _, document, process in versions:
                if document and document["status"] == "superseded" and process in sensitive:
                    yield f"{key[:9]} was replaced by something sensitive that nobody approved"

    def _read_again(self) -> Iterator[str]:
        """What was forgotten, undone or declined is not learnt again from a conversation."""
        gone: dict[tuple[str, str], float] = {}
        for versions in self.world.versions[memories.COLLECTION].values():
            history = written(versions)
            at = next((at for at, each in history if each["status"] == "forgotten"), None)
            text = next((each["content"] for _, each in history if each.get("content")), "")
            if at is not None and history[-1][1]["status"] == "forgotten":
                for wording in (text, in_one_wording(text)):
                    place = history[0][1]["user_id"], wording
                    gone[place] = min(gone.get(place, at), at)
        for key, versions in self.world.versions[memories.COLLECTION].items():
            process, last = versions[0].process, versions[-1].document
            if not (last and last["status"] in READABLE and process and process.name.startswith("store of")):
                continue
            since = gone.get((last["user_id"], last["content"]), float("inf"))
            if process.begun > since + SKEW and not process.faults:
                yield f"{key[:9]} was forgotten, and learnt again"
            since = gone.get((last["user_id"], in_one_wording(last["content"])), float("inf"))
            is_unasked = written(versions)[0][1]["status"] == "active"
            if process.begun > since + SKEW and not process.faults and is_unasked:
                yield f"{key[:9]} was forgotten, and learnt again in other words, though nobody was asked"


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
    batch = Batch(
        id=execution.given["batch_id"],
        user_id=execution.user_id,
        conversation_id=where,
        run_id=execution.given["run_id"],
        read_from=0,
        read_to=0,
        status="judged",
        found=[note.model_dump(mode="json")],
        created_at=now,
    )
    await services.extractions.add(batch)
