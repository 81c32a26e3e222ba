"""The story of conversations that are read for memories, by executions that ask about what is sensitive."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from qwestly_agent.agents.tools.knowledge import do_not_remember
from qwestly_agent.container import states_of
from qwestly_agent.domain.approval import KEEPS_MEMORIES
from qwestly_agent.domain.memory import MemorySource
from qwestly_agent.memory.extract_reader import MOST_NEW_LINES, WrittenSummary
from qwestly_agent.memory.notes import Note
from qwestly_agent.stores import conversations, memories, messages
from qwestly_agent.stores.memories import READABLE
from qwestly_agent.stores.memory_work import Batch
from tests.simulation.agent import Looks, in_one_wording
from tests.simulation.chats import Tab
from tests.simulation.executions import Execution, ExecutionStory, Given
from tests.simulation.memories import Fact, MemoryStory, is_whole
from tests.simulation.scheduler import Process
from tests.simulation.story import SKEW, Story, were, written
from tests.simulation.world import BEGINS, CONVERSATIONS

ASKED = ("conversation_id", "batch_id", "memory_ids", "run_id")
"""What of its input the machine gives to the state that asks."""
READS, WRITES = states_of("extract_memories", "reader"), states_of("extract_memories", "writer")
MOST_QUESTIONS = 1
"""Fewer than the real three, so that a schedule joins some."""
SAID_IN = re.compile(r'<said id="(m\d+)">(.*?)</said>', re.DOTALL)
"""A message in the prompt of who reads."""
ENDS_MEMORIES = ("correct", "forget", "undo", "turn ", "erase", "act for erase")
"""How the names of processes begin that take out a memory about which a question waits, and end the question."""


@dataclass
class ReadingStory(Story):
    memories: MemoryStory
    executions: ExecutionStory
    left_out: list[tuple[Tab, Fact, Process[Any]]] = field(default_factory=list[Any])
    """What people asked not to have remembered, with the turns in which they did."""
    reserved: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Conversations that are being read, which nobody else reads meanwhile."""

    def __post_init__(self) -> None:
        self.world.aws.begin = self._sum_up

    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return (
            (3, self.read),
            (3, self.read_again),
            (3, self.forget_and_read),
            (2, self.read_otherwise),
            (2, self.tell_in_passing),
            (2, self.leave_out),
            (2, self.read_whole),
            (4, self.tell_and_read),
            (3, self.forget_what_was_told),
        )

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

    def tell_in_passing(self, tab: Tab | None = None) -> None:
        """Somebody says something of themselves, for the first time or again."""
        tab = tab or self.memories.chats.tab()
        known = [each for each in self.memories.facts if each.person == tab.person]
        if known and self.choices.number(3) == 1:
            fact = self.choices.one(known)
        else:
            fact = self.memories.new_fact(tab.person, is_sensitive=self.choices.number(4) == 1)
        turns = self.memories.chats.say(tab, f"Now {fact.text}.")
        fact.said += turns
        self.memories.in_passing += turns

    def leave_out(self, tab: Tab | None = None) -> bool | None:
        """Somebody asks not to have something remembered that they said in a conversation."""
        tab = tab or self._some_tab(self.memories.facts)
        told = self._said_in(tab.person.id, tab.where) if tab else []
        if not (tab and told):
            return False
        fact = self.choices.one(told)

        async def plan(context: Any) -> Any:
            return await do_not_remember(context, [fact.text])

        [turn] = self.memories.chats.say(tab, f"Please do not remember that. {self.memories.chats.said}", plan)
        self.left_out.append((tab, fact, turn))
        self.memories.leaving_out.append(turn)
        return None

    def read_whole(self, tab: Tab | None = None) -> bool | None:
        """A conversation is over, and is read by a model."""
        tab = tab or self._some_tab()
        if not tab or (tab.person.id, tab.where) in self.reserved:
            return False
        self.reserved.add((tab.person.id, tab.where))
        number = len(self.executions.executions) + 1
        given = {"conversation_id": tab.where, "run_id": f"read-{number}"}
        execution = Execution(number, tab.person.id, given, "extract_memories", WRITES)
        self.executions.begin(execution, partial(self._read_whole, execution))
        return None

    def tell_and_read(self) -> None:
        """Somebody says something and the conversation is read, while they do more."""
        tab, chats = self.memories.chats.tab(), self.memories.chats
        if self.choices.number(3) == 1:
            self.memories.tell(tab, self.memories.new_fact(tab.person))
        else:
            self.tell_in_passing(tab)
        if self.choices.number(2):
            self.stage.go_on(self._later(3.0, partial(self.leave_out, tab)))
        self.stage.go_on(self._later(6.0, partial(self.read_whole, tab)))
        beside = (None, None, self.leave_out, self.tell_in_passing, chats.delete)
        if act := self.choices.one(beside):
            gap = self.choices.one((0.1, 0.2, 0.4, 0.8, 1.6, 12.0))
            self.stage.go_on(self._later(6.0 + gap, partial(act, tab)))
        if self.choices.number(3) == 1:
            self.stage.go_on(self._later(61.0, partial(self.read_whole, tab)))

    def forget_what_was_told(self) -> None:
        """Somebody has something remembered, is told of it, there or elsewhere, until it is summed up, and has it
        forgotten at some time."""
        tab, chats = self.memories.chats.tab(), self.memories.chats
        fact = self.memories.new_fact(tab.person)
        self.memories.tell(Tab(tab.person, self.choices.one(CONVERSATIONS)), fact)
        talk = partial(chats.say, tab, "And so on.")
        for seconds in (3.0, 6.0, 9.0):
            search = partial(chats.say, tab, "What do you know of me?", Looks("bee"))
            self.stage.go_on(self._later(seconds, self.choices.one((talk, search))))

        def forget() -> None:
            if found := [each for each in self.memories.held() if each[1] is fact]:
                self.memories.forget(found[0])

        self.stage.go_on(self._later(self.choices.one((7.0, 9.3, 9.8, 10.6, 14.0)), forget))
        self.stage.go_on(self._later(17.0, talk))

    async def _later(self, seconds: float, act: Callable[[], object]) -> None:
        await asyncio.sleep(seconds)
        if not self.stage.leaving:
            act()

    def _said_in(self, user_id: str, where: str) -> list[Fact]:
        every = self.world.table(messages.COLLECTION).values()
        here = [each["content"] for each in every if (each["user_id"], each["conversation_id"]) == (user_id, where)]
        return [each for each in self.memories.facts if any(each.text in text for text in here)]

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
        if stored := await self._store(execution, execution.given, [fact]):
            await self._ask(execution, stored)

    def _sum_up(self, name: str, given: dict[str, Any]) -> None:
        """The execution that a turn starts to sum up what is no longer in the window."""
        if name.startswith("summary-"):
            user_id, number = given["user_id"], len(self.executions.executions) + 1
            left = {key: each for key, each in given.items() if key != "user_id"}
            execution = Execution(number, user_id, left, "extract_memories", READS)
            self.executions.begin(execution, partial(self._until_summed_up, execution))

    async def _until_summed_up(self, execution: Execution) -> None:
        await self.executions.until_done("summarize", execution, execution.given)

    async def _read_whole(self, execution: Execution) -> None:
        here = execution.user_id, execution.given["conversation_id"]
        extracted = await self._or_later("extract", execution, execution.given)
        stored = await self._store(execution, extracted, self._said_in(*here)) if extracted else None
        self.reserved.discard(here)
        if stored:
            await self._ask(execution, stored)

    async def _or_later(
        self, state: str, execution: Execution, given: Given, note: Callable[[Any], None] = lambda _: None
    ) -> Given | None:
        """What the state returned; None if it failed, and the conversation is read later."""
        whose = replace(execution, states=READS) if (execution.workflow, state) in READS else execution
        result = await self.executions.until_done(state, whose, given, note=note)
        if not isinstance(result, str):
            return result
        await self.executions.until_done("retry_later", execution, {**given, "error": {"Error": result}})
        return None

    async def _store(self, execution: Execution, given: Given, facts: Sequence[Fact]) -> Given | None:
        """Compare what was found with what is known, and store it."""

        def note(process: Any) -> None:
            for each in facts:
                each.read.append(process)

        compared = await self._or_later("reconcile", execution, given)
        stored = await self._or_later("store", execution, compared, note) if compared else None
        if stored:
            await self.executions.until_done("move_watermark", execution, stored)
        return stored

    async def _ask(self, execution: Execution, stored: Given) -> None:
        """Ask about what is sensitive, if anything is."""
        if stored["proposed"]:
            execution.given = {name: stored[name] for name in ASKED}
            answered = await self.executions.ask(execution, None)
            given = {"error": {"Error": answered}} if isinstance(answered, str) else answered
            kept = await self.executions.until_done("keep_approved", execution, {**stored, **given}, tries=20)
            execution.end = kept if isinstance(kept, str) else kept["end"]

    # --- models ---

    async def written(self, services: Any, user_id: str, _: Any, schema: Any, prompt: str, **__: Any) -> Any:
        """Replaces the models that read: one notes all that people say of themselves, one sums up word for word."""
        if schema is WrittenSummary:
            said = json.loads(prompt[prompt.index("[") : prompt.rindex("]") + 1])
            lines = [{"message_id": each["message_id"], "text": each["text"], "quote": each["text"]} for each in said]
            summary = {"lines": lines[:MOST_NEW_LINES]}
            return await self.world.asked_model(services, user_id, "sum up", lambda: schema.model_validate(summary))
        notes = list[dict[str, Any]]()
        for name, text in SAID_IN.findall(prompt):
            for each in (fact for fact in self.memories.facts if fact.text in text):
                quoted = {"content": each.text, "quote": each.text, "message_id": name}
                notes.append({"type": "fact", "sensitive": each.is_sensitive, **quoted})
        return await self.world.asked_model(services, user_id, "extract", lambda: schema(memories=notes))

    async def judged(self, notes: Sequence[Note], _: Any) -> list[Note]:
        """Replaces the judge of notes, which finds all of them true if it answers."""
        return [each.model_copy(update={"is_checked": self.world.has_judge()}) for each in notes]

    # --- what must hold ---

    def check(self) -> Iterator[str]:
        yield from self._left_out()
        yield from self._declined()
        yield from self._read_again()
        yield from self._approved()
        yield from self._asked_until_decided()
        yield from self._replaces_nothing_unasked()

    def _left_out(self) -> Iterator[str]:
        """What somebody asked not to have remembered is not, neither by who reads nor by a tool."""
        for tab, fact, turn in self.left_out:
            conversation = self.world.table(conversations.COLLECTION).get(f"{tab.person.id}:{tab.where}", {})
            left_out = {*conversation.get("not_to_be_remembered", ())}
            if not is_whole(turn) or any(each.begun > turn.begun for each in fact.said):
                continue
            for key, versions in self.world.versions[memories.COLLECTION].items():
                first, last = versions[0], versions[-1].document
                source = (first.document or {}).get("source") or {}
                is_of_it = not left_out.isdisjoint(source.get("message_ids") or ())
                if not (is_of_it and last and last["status"] in READABLE and last.get("content") == fact.text):
                    continue
                process = first.process
                if process and process.name.startswith("store of") and process.begun > turn.ended:
                    yield f"{key[:9]} was to be left out, and was learnt"
                was_undoable = last["undo_until"] - BEGINS > turn.ended + SKEW and last["status"] != "superseded"
                if process and process.name.startswith("turn ") and 0 < process.ended < turn.begun and was_undoable:
                    yield f"{key[:9]} was to be left out, and stays"

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
        gone: dict[tuple[str, ...], float] = {}
        for versions in self.world.versions[memories.COLLECTION].values():
            history = written(versions)
            at = next((at for at, each in history if each["status"] == "forgotten"), None)
            text = next((each["content"] for _, each in history if each.get("content")), "")
            if at is not None and history[-1][1]["status"] == "forgotten":
                for place in ((history[0][1]["user_id"], text), (history[0][1]["user_id"], "", in_one_wording(text))):
                    gone[place] = min(gone.get(place, at), at)
        for key, versions in self.world.versions[memories.COLLECTION].items():
            process, last = versions[0].process, versions[-1].document
            if not (last and last["status"] in READABLE and process and process.name.startswith("store of")):
                continue
            since = gone.get((last["user_id"], last["content"]), float("inf"))
            if process.begun > since + SKEW and not process.faults:
                yield f"{key[:9]} was forgotten, and learnt again"
            since = gone.get((last["user_id"], "", in_one_wording(last["content"])), float("inf"))
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
