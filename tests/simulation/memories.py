"""The story of memories: people have things remembered, corrected, undone and forgotten, in chat and on the page."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from qwestly_agent.agents.tools.knowledge import correct_memory, forget_memory, remember
from qwestly_agent.chat.routers import memories as pages
from qwestly_agent.clients.user_tokens import user_of_token
from qwestly_agent.domain.approval import KEEPS_MEMORIES
from qwestly_agent.memory.actions import FORGET_MEMORIES
from qwestly_agent.memory.view import Correction
from qwestly_agent.stores import approvals, drafts, memories, messages
from qwestly_agent.stores.memories import READABLE, UNIQUE_STATUSES
from qwestly_agent.stores.memory_work import JOURNAL
from tests.simulation.agent import HAS, KEEPS, Looks, as_told, in_one_wording
from tests.simulation.approvals import ApprovalStory
from tests.simulation.chats import ChatStory, Tab
from tests.simulation.database import Document
from tests.simulation.scheduler import Process
from tests.simulation.story import CHAT_SECONDS, REQUEST_SECONDS, SKEW, Story, were, written
from tests.simulation.world import CONVERSATIONS, PEOPLE, Person

WORDS = ("Zora", "Yara", "Xena", "Wanda", "Vera", "Uma", "Tilda", "Selma", "Runa", "Quinn", "Pola", "Olga")
HELD_IN = (memories.COLLECTION, approvals.COLLECTION, drafts.COLLECTION, "agent_tool_calls", "agent_activity")
"""Collections that hold no text which was forgotten; messages may, as transcripts, and no prompt has them."""


@dataclass(eq=False)
class Fact:
    """Something that a person said of themselves."""

    text: str
    person: Person
    is_sensitive: bool
    replaces: "Fact | None" = None
    said: list[Process[Any]] = field(default_factory=list[Process[Any]])
    """Processes in which the person said it."""
    forgotten: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """Start and end of each forgetting."""
    undone: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    corrected: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    read: list[Process[Any]] = field(default_factory=list[Process[Any]])
    """By which it was stored after its conversation was read."""

    @property
    def with_earlier(self) -> "list[Fact]":
        return [self, *(self.replaces.with_earlier if self.replaces else ())]


@dataclass
class MemoryStory(Story):
    approvals: ApprovalStory
    chats: ChatStory
    facts: list[Fact] = field(default_factory=list[Fact])
    seen: list[str] = field(default_factory=list[str])
    """Sentences about what somebody saw of others."""
    with_two: list[Process[Any]] = field(default_factory=list[Process[Any]])
    """Turns that were told two things, of which they keep one."""
    leaving_out: list[Process[Any]] = field(default_factory=list[Process[Any]])
    """Turns in which somebody asked not to have something remembered, which undo what a tool stored."""
    in_passing: list[Process[Any]] = field(default_factory=list[Process[Any]])
    """Turns that were told something, and not to remember it."""
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Memories to be forgotten, with the user who asked."""
    undoing: dict[str, list[Process[Any]]] = field(default_factory=dict[str, list[Process[Any]]])
    """By the memory that they undo."""

    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return (
            (6, self.remember),
            (3, self.correct),
            (2, self.correct_in_chat),
            (4, self.correct_and_undo),
            (4, self.change_beside_a_turn),
            (4, self.forget),
            (2, self.forget_in_chat),
            (5, self.undo),
            (4, self.contend),
            (4, self.decide),
            (2, self.look),
            (2, self.search_in_chat),
        )

    # --- what happens ---

    def new_fact(self, person: Person, *, is_sensitive: bool = False, replaces: Fact | None = None) -> Fact:
        number = len(self.facts)
        text = f"{person.name} {KEEPS} {WORDS[number % len(WORDS)]} {number:02}"  # none is a part of another
        fact = Fact(text, person, is_sensitive, replaces)
        self.facts.append(fact)
        if replaces:
            self.takes_place(fact, replaces)
        return fact

    def takes_place(self, newer: Fact, older: Fact) -> None:
        """Whoever compares both finds that only the newer one holds."""
        self.world.replaced.setdefault(in_one_wording(newer.text), set()).add(in_one_wording(older.text))

    def reworded(self, fact: Fact) -> Fact:
        """The same, told in other words."""
        words = (KEEPS, HAS) if KEEPS in fact.text else (HAS, KEEPS)
        text = fact.text.replace(*words)
        if found := next((each for each in self.facts if each.text == text), None):
            return found
        again = Fact(text, fact.person, fact.is_sensitive)
        self.facts.append(again)
        return again

    def remember(self) -> None:
        tab = self.chats.tab()
        known = [each for each in self.facts if each.person == tab.person]
        is_new = not known or self.choices.number(4)
        self.tell(
            tab,
            self.new_fact(tab.person, is_sensitive=self.choices.number(4) == 1) if is_new else self.choices.one(known),
        )

    def tell(self, tab: Tab, fact: Fact) -> None:
        """Somebody has something remembered."""
        also = self.new_fact(tab.person) if self.choices.number(4) == 1 else None
        facts = [fact, also] if also else [fact]

        async def plan(context: Any) -> Any:
            """Remember one thing, or two at once, of which one is to be left."""
            calls = (remember(context, "fact", each.text, each.text, each.is_sensitive) for each in facts)
            results = await asyncio.gather(*calls, return_exceptions=True)
            done = [each for each in results if not isinstance(each, BaseException)]
            if not done:
                raise results[0]  # type: ignore[misc]
            return done[0]

        said = self.chats.say(
            tab, f"Remember that {' and '.join(each.text for each in facts)}.", plan, times=self.stage.times()
        )
        for each in facts:
            each.said += said
        self.with_two += said if also else []

    def contend(self) -> bool | None:
        """Two things are done to one memory at once."""
        if not (found := self._some("active")):
            return False
        acts = (self.correct, self.correct, self.forget, self.undo)
        first, second = self.choices.one(acts), self.choices.one(acts)
        self.stage.rivals(lambda: first(found), lambda: second(found))
        return None

    def correct(self, found: "tuple[Document, Fact] | None" = None) -> bool | None:
        if not (found := found or self._some()):
            return False
        document, fact = found
        new = self.new_fact(fact.person, is_sensitive=fact.is_sensitive, replaces=fact)
        token, is_theirs = self.stage.token_for(fact.person.id)
        begun = self.stage.now

        async def work(services: Any) -> None:
            user_id = await user_of_token(services.secrets, token, services.clock)
            await pages.correct_memory(document["_id"], Correction(content=new.text), services, user_id)
            if is_theirs:
                fact.corrected.append((begun, self.stage.now))
            else:
                self.seen.append(f"{document['_id'][:9]} was corrected by a stranger")

        new.said += self._start(f"correct {document['_id'][:9]} to {new.text}", work, is_theirs)
        return None

    def correct_in_chat(self) -> bool | None:
        if not (found := self._some("active")):
            return False
        document, fact = found
        tab = self.chats.tab(fact.person)
        new = self.new_fact(fact.person, is_sensitive=self.choices.number(3) == 1, replaces=fact)

        async def plan(context: Any) -> Any:
            return await correct_memory(context, document["_id"], new.text, new.text, new.is_sensitive)

        new.said += self.chats.say(tab, f"No, {new.text}.", plan)
        return None

    def correct_and_undo(self) -> bool | None:
        """Correct something in chat, and undo that soon afterwards."""
        if self.correct_in_chat() is False:
            return False

        async def run() -> None:
            await asyncio.sleep(self.choices.one((3.0, 12.0)))
            if (newer := self._some_newer()) and newer[1].person.id not in self.stage.leaving:
                self.undo(newer)

        self.stage.go_on(run())
        return None

    def change_beside_a_turn(self) -> bool | None:
        """Correct or forget what a turn is about to tell its model, and go on with that conversation."""
        if not (found := self._some("active")):
            return False
        person = found[1].person
        tab = Tab(person, self.choices.one((*CONVERSATIONS, f"noon {self.chats.said}")))
        talk = partial(self.chats.say, tab, f"Hello from {person.name} {self.chats.said}")
        acts = [talk, partial(self.choices.one((self.correct, self.forget)), found)]
        self.stage.rivals(*(acts if self.choices.number(2) else reversed(acts)))

        async def run() -> None:
            await asyncio.sleep(self.choices.one((3.0, 12.0)))
            if person.id not in self.stage.leaving:
                self.chats.say(tab, f"And then, asks {person.name} {self.chats.said}")

        self.stage.go_on(run())
        return None

    def forget(self, found: "tuple[Document, Fact] | None" = None) -> bool | None:
        if not (found := found or self._some()):
            return False
        document, fact = found
        token, is_theirs = self.stage.token_for(fact.person.id)
        begun = self.stage.now

        async def work(services: Any) -> None:
            user_id = await user_of_token(services.secrets, token, services.clock)
            lineage = self._lineage(document["_id"])
            if is_theirs:
                self.asked.append((document["_id"], "forget"))
            await pages.forget_memory(document["_id"], services, user_id)
            if is_theirs:
                was_undone = any(self._was_being_undone(each, begun) for each in lineage)
                for each in lineage:
                    if not (was_undone or self._was_taken_apart(each, begun)):
                        each.forgotten.append((begun, self.stage.now))
            else:
                self.seen.append(f"{document['_id'][:9]} was forgotten by a stranger")

        self._start(f"forget {document['_id'][:9]}", work, is_theirs)
        return None

    def _was_being_undone(self, fact: Fact, begun: float) -> bool:
        """True if it may have been undone since then, before it could be forgotten."""
        undoing = [each for key, some in self.undoing.items() if self.text(key) == fact.text for each in some]
        return any(each.ended < 0 or each.ended >= begun for each in undoing)

    def _was_taken_apart(self, fact: Fact, begun: float) -> bool:
        """True if it was restored since then from what a night had made of it."""
        every = [each for versions in self.world.versions[memories.COLLECTION].values() for each in versions]
        late = [each for each in every if each.at >= begun and (each.document or {}).get("content") == fact.text]
        return any(each.process and each.process.name.startswith("take ") for each in late)

    def forget_in_chat(self) -> bool | None:
        if not (found := self._some("active")):
            return False
        document, fact = found

        async def plan(context: Any) -> Any:
            return await forget_memory(context, [document["_id"]])

        self.chats.say(self.chats.tab(fact.person), f"Please forget {self.chats.said}", plan)
        return None

    def undo(self, found: "tuple[Document, Fact] | None" = None) -> bool | None:
        if not (found := found or self._some_newer() or self._some("active")):
            return False
        document, fact = found
        token, is_theirs = self.stage.token_for(fact.person.id)
        begun = self.stage.now

        async def work(services: Any) -> None:
            user_id = await user_of_token(services.secrets, token, services.clock)
            if is_theirs:
                self.asked.append((document["_id"], "undo"))
            await pages.undo_memory(document["_id"], services, user_id)
            if is_theirs:
                fact.undone.append((begun, self.stage.now))
            else:
                self.seen.append(f"{document['_id'][:9]} was undone by a stranger")
            if document["undo_until"] + SKEW < self.world.time - REQUEST_SECONDS:
                self.seen.append(f"{document['_id'][:9]} was undone after its time")

        self.undoing.setdefault(document["_id"], []).extend(self._start(f"undo {document['_id'][:9]}", work, is_theirs))
        return None

    def decide(self) -> bool | None:
        """Decide on memories to keep or forget, with the card's button."""
        pending = [each for each in self.world.approvals if each.kind == "memory" and each.status == "pending"]
        if not pending:
            return False
        record = self.choices.one(pending)
        verb = self.choices.one(("approve", "approve", "reject"))
        self.approvals.decide_on(record, verb, self.choices.one(("chat", "queue")), record)  # type: ignore[arg-type]
        return None

    def look(self) -> bool | None:
        """List, search and read memories, including other users'."""
        person = self.stage.someone()
        query = self.choices.one((None, "bee called"))
        documents = [*self.world.table(memories.COLLECTION).values()]
        other = self.choices.one(documents)["_id"] if documents else ""

        async def work(services: Any) -> None:
            user_id = await user_of_token(services.secrets, self.world.token(person.id), services.clock)
            begun = self.stage.now
            listed = await pages.list_memories(services, user_id, limit=30, after=0, status="active", query=query)
            self._note_seen(person, begun, [each.content for each in listed.items])
            if other:
                detail = await pages.read_memory(other, services, user_id)
                self._note_seen(person, begun, [detail.content, *(each.content for each in detail.before)])

        self.stage.start(f"look at {person.name}'s memories", work, REQUEST_SECONDS, settings=self.world.chat_settings)
        return None

    def search_in_chat(self) -> None:
        tab = self.chats.tab()

        self.chats.say(tab, f"What do you know of me? {self.chats.said}", Looks("bee"))

    def _note_seen(self, person: Person, begun: float, texts: Sequence[str]) -> None:
        for text in texts:
            if not text.startswith(person.name):
                self.seen.append(f"{person.name} saw “{text}”")
            fact = next((each for each in self.facts if each.text == text), None)
            if fact and self._is_gone(fact, begun):
                self.seen.append(f"“{text}” was shown after it was forgotten")

    def _some(self, *statuses: str) -> tuple[Document, Fact] | None:
        """An active or pending memory, and its text."""
        wanted = statuses or ("active", "active", "proposed")
        documents = [each for each in self.world.table(memories.COLLECTION).values() if each["status"] in wanted]
        if not documents:
            return None
        return self._with_fact(self.choices.one(documents))

    def some_of(self, person: Person) -> tuple[Document, Fact]:
        """Something that is remembered of somebody, who has told something."""
        known = self.world.table(memories.COLLECTION).values()
        return self._with_fact(
            self.choices.one([each for each in known if each["status"] == "active" and each["user_id"] == person.id])
        )

    def newest(self) -> tuple[Document, Fact]:
        """One of the last two that are remembered of somebody who stays."""
        known = [*self.world.table(memories.COLLECTION).values()]
        active = [each for each in known if each["status"] == "active" and each["user_id"] not in self.stage.leaving]
        return self._with_fact(self.choices.one(active[-2:]))

    def held(self) -> "list[tuple[Document, Fact]]":
        """All that is remembered."""
        known = self.world.table(memories.COLLECTION).values()
        return [self._with_fact(each) for each in known if each["status"] == "active"]

    def active(self) -> list[Fact]:
        return [fact for _, fact in self.held()]

    def _with_fact(self, document: Document) -> tuple[Document, Fact]:
        return document, next(each for each in self.facts if each.text == document["content"])

    def _some_newer(self) -> tuple[Document, Fact] | None:
        """A memory that has replaced one and can be undone, and its text."""
        known = self.world.table(memories.COLLECTION)
        newer = [known[each["superseded_by"]] for each in known.values() if each.get("superseded_by") in known]
        active = [each for each in newer if each["status"] == "active" and each["undo_until"] > self.world.time]
        return self._with_fact(self.choices.one(active)) if active else None

    def _lineage(self, memory_id: str) -> list[Fact]:
        """Return the memory's present text and its earlier ones, besides those that a night is just replacing."""
        documents, runs, ids = self.world.table(memories.COLLECTION), self.world.table(JOURNAL), [memory_id]
        nights = {run["run_id"] for run in runs.values() if run["status"] in ("planned", "undoing")}
        older = {key: each for key, each in documents.items() if each.get("replaced_in") not in nights}
        for found in ids:  # which grows
            ids += [key for key, each in older.items() if each.get("superseded_by") == found and key not in ids]
        texts = {documents[each].get("content") for each in ids if each in documents}
        return [each for each in self.facts if each.text in texts]

    def _start(self, name: str, work: Callable[[Any], Any], is_theirs: bool) -> list[Process[Any]]:
        whose = "" if is_theirs else ", by a stranger"
        return self.stage.start(f"{name}{whose}", work, CHAT_SECONDS, settings=self.world.chat_settings)

    # --- what must hold ---

    def check(self) -> Iterator[str]:
        yield from self.seen
        yield from self.forgotten()
        yield from self._prompts()
        yield from self._kept()
        yield from self._gone_by_nobody()
        yield from self._corrected()
        yield from self._stays_forgotten()
        yield from self._undone()
        yield from self._restored()
        yield from self._remembered()
        yield from self._one_a_turn()
        yield from self._replaced_by_what_holds()

    def _is_gone(self, fact: Fact, begin: float) -> bool:
        """True if they were told before that it is forgotten, and did not say it again since they asked."""
        ends = [(begun, ended) for begun, ended in fact.forgotten if ended < begin]
        if not ends:
            return False
        again = [each for each in fact.said if each.begun >= ends[-1][0] or not 0 <= each.ended < ends[-1][0]]
        return not any(again)

    def forgotten(self) -> Iterator[str]:
        for fact in self.facts:
            if not fact.forgotten or not self._is_gone(fact, float("inf")):
                continue
            for collection in HELD_IN:
                for key, document in self.world.table(collection).items():
                    if fact.text in repr(document):
                        yield f"“{fact.text}” was forgotten, and is in {key} of {collection}"
            for conversation in self.world.table("agent_conversations").values():
                kept = {name: each for name, each in conversation.items() if name in ("context", "summary")}
                if fact.text in repr(kept):
                    yield f"“{fact.text}” was forgotten, and is in the context of {conversation['_id']}"
            for message in self.world.table(messages.COLLECTION).values():
                if fact.text in repr(message.get("steps")):
                    yield f"“{fact.text}” was forgotten, and is a source of {message['_id']}"
            ended = fact.forgotten[-1][1]
            for key, versions in self.world.versions[memories.COLLECTION].items():
                # A process that stores a memory checks for its tombstone right afterwards, so only the last version of
                # each counts.
                last = {id(process): document for _, document, process in versions}
                for at, document, process in versions:
                    if at <= ended or not document or document is not last[id(process)]:
                        continue
                    if document["status"] in READABLE and document.get("content") == fact.text:
                        yield f"“{fact.text}” was forgotten, and is {document['status']} again as {key[:9]}"

    def _prompts(self) -> Iterator[str]:
        of_one_meaning = dict[str, list[Fact]]()
        for fact in self.facts:
            of_one_meaning.setdefault(as_told(fact.text), []).append(fact)
        for prompt in self.world.prompts:
            person = next(each for each in PEOPLE if each.id == prompt.user_id)
            for fact in self.facts:
                same = of_one_meaning[as_told(fact.text)]
                is_told = as_told(fact.text) in prompt.text
                if is_told and all(self._is_gone(each, prompt.process.begun) for each in same):
                    yield f"“{fact.text}” was forgotten, and an answer that told of it is in a prompt"
                if fact.text not in prompt.text:
                    continue
                if fact.person != person:
                    yield f"“{fact.text}” was in a prompt of {person.name}"
                if self._is_gone(fact, prompt.process.begun):
                    yield f"“{fact.text}” was forgotten, and is in a prompt"
                elif self._is_gone(fact, float("inf")) and self._is_seen(prompt.run_id):
                    yield f"“{fact.text}” was forgotten, and an answer that knew of it is still seen"
                if fact.text in prompt.context and self._is_corrected(fact, prompt.process.begun):
                    yield f"“{fact.text}” was corrected, and is what a prompt knows"

    def _is_seen(self, run_id: str) -> bool:
        """True if later prompts have the answer of this run."""
        every = self.world.table(messages.COLLECTION).values()
        return any(
            each["run_id"] == run_id and each["role"] == "assistant" and not each.get("withheld") for each in every
        )

    def _is_corrected(self, fact: Fact, begin: float) -> bool:
        """True if it was corrected before then, and neither said again nor restored."""
        if not fact.corrected or fact.corrected[-1][1] >= begin or fact.read:
            return False
        begun = fact.corrected[-1][0]
        again = any(each.begun > begun - SKEW or not 0 <= each.ended < begun for each in fact.said)
        newer = [each for each in self.facts if each.replaces is fact]
        return not (again or any(each.undone or each.forgotten for each in newer) or self._is_asked_to_undo(newer))

    def _is_asked_to_undo(self, facts: list[Fact]) -> bool:
        texts = {each.text for each in facts}
        return any(self.text(memory_id) in texts for memory_id, _ in self.asked)

    def _kept(self) -> Iterator[str]:
        unique: dict[tuple[str, str], str] = {}
        for key, document in self.world.table(memories.COLLECTION).items():
            if document["status"] not in UNIQUE_STATUSES:
                continue
            place = (document["user_id"], document["content"])
            if place in unique:
                yield f"“{document['content']}” is remembered twice"
            unique[place] = key
            fact = next(each for each in self.facts if each.text == document["content"])
            if fact.person.id != document["user_id"]:
                yield f"“{fact.text}” is remembered of somebody else"
            is_sensitive = fact.is_sensitive and not fact.replaces
            if document["status"] == "active" and is_sensitive and not self._was_approved(key):
                yield f"“{fact.text}” is remembered though nobody approved it"

    def _was_approved(self, memory_id: str) -> bool:
        for key, versions in self.world.records.items():
            history = written(versions)
            if history[0][1]["tool"] != KEEPS_MEMORIES or memory_id not in history[0][1]["args"]:
                continue
            said_yes = [each for each in self.stage.decided.get(key, ()) if each.decision.decision == "approve"]
            if said_yes and any(document["status"] == "approved" for _, document in history):
                return True
        return False

    def _gone_by_nobody(self) -> Iterator[str]:
        """Yield memories that are forgotten although nobody forgot, undid or declined them."""
        reasons = {memory_id for memory_id, _ in self.asked}
        for versions in self.world.records.values():
            for _, document in written(versions):
                is_no = document["tool"] == KEEPS_MEMORIES and document["status"] == "rejected"
                is_forgetting = document["tool"] == FORGET_MEMORIES.tool and document["decided_by"] in ("chat", "queue")
                if is_no or is_forgetting:
                    reasons |= {key for key in self.world.versions[memories.COLLECTION] if key in document["args"]}
        for key, versions in self.world.versions[memories.COLLECTION].items():
            gone = [each.process for each in versions if each.document and each.document["status"] == "forgotten"]
            # Who stores what was read takes back what was forgotten, or asked to be left out, meanwhile.
            if any(each and (each in self.leaving_out or each.name.startswith("store of")) for each in gone):
                reasons.add(key)
        reasons |= {newer for key in reasons for newer in self._corrected_beside(key)}
        older = {key: self._replaced_by(key) for key in self.world.versions[memories.COLLECTION]}
        while more := {key for key, newer in older.items() if newer & reasons} - reasons:
            reasons |= more
        said = {self.text(key) for key in reasons}
        earlier = {each.text for fact in self.facts if fact.text in said for each in fact.with_earlier}
        for key, document in self.world.table(memories.COLLECTION).items():
            if document["status"] == "forgotten" and self.text(key) not in earlier and key not in reasons:
                fact = next(each for each in self.facts if each.text == self.text(key))
                # What corrects it at the same moment, or tells the same in other words, goes with it.
                same = [each for each in self.facts if in_one_wording(each.text) == in_one_wording(fact.text)]
                kin = [*fact.with_earlier, *(every for each in same for every in each.with_earlier)]
                if not any(each.forgotten or each.undone or each.text in said for each in kin):
                    yield f"“{fact.text}” was forgotten by nobody"

    def text(self, memory_id: str) -> str:
        return next(each["content"] for _, each in written(self.world.versions[memories.COLLECTION][memory_id]))

    def _replaced_by(self, key: str) -> set[str]:
        """What took the place of a memory at any time."""
        history = written(self.world.versions[memories.COLLECTION][key])
        return {newer for _, each in history if (newer := each.get("superseded_by"))}

    def _corrected_beside(self, key: str) -> Iterator[str]:
        """What took the place of a memory at the moment when it was forgotten, and goes with it."""
        history = written(self.world.versions[memories.COLLECTION].get(key, []))
        gone = next((at for at, each in history if each["status"] == "forgotten"), float("inf"))
        for at, each in history:
            if each["status"] == "superseded" and at > gone - SKEW:
                yield each["superseded_by"]

    def _corrected(self) -> Iterator[str]:
        active = {
            (each["user_id"], each["content"])
            for each in self.world.table(memories.COLLECTION).values()
            if each["status"] == "active"
        }
        for fact in self.facts:
            new = [each for each in self.facts if each.replaces is fact]
            if not fact.corrected or (fact.person.id, fact.text) not in active:
                continue
            ended = fact.corrected[-1][1]
            was_undone = any(each.undone or each.forgotten for each in new)
            was_said = any(each.begun > fact.corrected[-1][0] - SKEW or each.ended > ended for each in fact.said)
            if not (was_undone or was_said):
                yield f"“{fact.text}” was corrected, and still holds"
        for fact in self.facts:
            versions = [
                each.text
                for each in self.facts
                if each.replaces is fact and (each.person.id, each.text) in active and all(map(is_whole, each.said))
            ]
            newer = [each for each in self.facts if each.replaces is fact]
            again = fact.read or any(each.begun > fact.corrected[0][0] for each in fact.said if fact.corrected)
            again = again or any(each.undone or each.read or len(each.said) > 1 for each in newer)
            # Somebody's yes to one of them may come after the other; the night compares both.
            was_asked = any(status == "proposed" for each in newer for status in self._statuses(each))
            if len(versions) > 1 and not (again or was_asked):
                yield f"“{fact.text}” was corrected, and both hold: {versions}"

    def _undone(self) -> Iterator[str]:
        """What was undone is not remembered, and what it had replaced holds again."""
        for fact in self.facts:
            if not fact.undone or any(each.begun >= fact.undone[-1][0] or each.ended < 0 for each in fact.said):
                continue
            ended = fact.undone[-1][1]
            last = self._statuses(fact)
            if fact.person.id in self.stage.leaving or fact.read:
                continue
            was_apart = any("replaced_in" in each for _, each in self._history(fact))  # of which a night made one
            was_asked = any(each["status"] == "proposed" and at > ended - SKEW for at, each in self._history(fact))
            if last[-1:] == ["active"] and not (was_apart or was_asked):
                yield f"“{fact.text}” was undone, and is remembered"
            old = fact.replaces
            rivals = [each for each in self.facts if each.replaces is old and each is not fact]
            # A correction of what is undone at that moment takes its place.
            if old is None or old.forgotten or old.undone or rivals or old.read or fact.forgotten or fact.corrected:
                continue
            then = [each for at, each in self._history(old) if at <= ended]
            if then and then[-1]["status"] == "superseded" and not then[-1].get("replaced_in"):  # by a night
                yield f"“{old.text}” was replaced by what was undone, and does not hold again"

    def _restored(self) -> Iterator[str]:
        """What an undo has taken out replaces nothing any more."""
        known = self.world.versions[memories.COLLECTION]
        there = self.world.table(memories.COLLECTION)
        texts = Counter(map(self.text, there))
        for key, document in there.items():
            newer = document.get("superseded_by")
            is_said_again = texts[self.text(key)] > 1
            if document["status"] != "superseded" or newer not in known or is_said_again:
                continue
            ends = [process for _, each, process in known[newer] if each and each["status"] == "forgotten"]
            if ends and ends[0] and ends[0].name.startswith("undo "):
                yield f"{key[:9]} does not hold, as {newer[:9]} does, which was undone"

    def _statuses(self, fact: Fact) -> list[str]:
        return [each["status"] for _, each in self._history(fact)]

    def _history(self, fact: Fact) -> list[tuple[float, Document]]:
        """All versions of the memories with this text, in the order of time."""
        every = [written(each) for each in self.world.versions[memories.COLLECTION].values()]
        mine = [history for history in every if history and history[0][1].get("content") == fact.text]
        return sorted((each for history in mine for each in history), key=lambda each: each[0])

    def _remembered(self) -> Iterator[str]:
        """What was said to be remembered was, and counts no more often than it was said."""
        every = self.world.versions[memories.COLLECTION].values()
        # Somebody who was asked about what may be like something forgotten is not asked again.
        was_asked = {each["user_id"] for versions in every for _, each in written(versions) if each.get("retells")}
        for fact in self.facts:
            held = [each for each in self.world.table(memories.COLLECTION).values() if each.get("content") == fact.text]
            same = [each for each in self.facts if in_one_wording(each.text) == in_one_wording(fact.text)]
            ended = any(each.forgotten or each.undone for each in same) or any(
                each.replaces is fact for each in self.facts
            )
            others = [*self.with_two, *self.in_passing, *self.world.unjudged]
            said = [each for each in fact.said if is_whole(each) and each.result is True and each not in others]
            is_plain = not (fact.is_sensitive or fact.replaces or ended or fact.person.id in self.stage.leaving)
            is_plain = is_plain and fact.person.id not in was_asked
            if is_plain and said and not self._history(fact):
                yield f"“{fact.text}” was to be remembered, and is not"
            most = max(1, sum(len(each.said) + len(each.read) for each in same))
            if any(each.get("count", 1) > most for each in held):
                yield f"“{fact.text}” counts more often than it was said"

    def _one_a_turn(self) -> Iterator[str]:
        """A turn remembers one thing."""
        firsts = [versions[0].process for versions in self.world.versions[memories.COLLECTION].values()]
        for each in self.with_two:
            if firsts.count(each) > 1:
                yield f"“{each.name}” was remembered as {firsts.count(each)} things"

    def _replaced_by_what_holds(self) -> Iterator[str]:
        """What somebody approved holds once what it takes the place of does not."""
        every = self.world.versions[memories.COLLECTION]
        for key, versions in every.items():
            for (_, before), (at, after) in pairwise(written(versions)):
                if (before["status"], after["status"]) != ("proposed", "active"):
                    continue
                for older in after.get("replaces") or ():
                    [then] = were([(each.at, each.document) for each in every.get(older, ())], at, at) or [None]
                    if then and then["status"] == "active":
                        yield f"{key[:9]} holds, and so does {older[:9]}, whose place it takes"
                for tombstone in after.get("retells") or ():
                    [then] = were([(each.at, each.document) for each in every.get(tombstone, ())], at, at) or [None]
                    if then:
                        yield f"{key[:9]} holds, and {tombstone[:9]} still stands for its being forgotten"

    def _stays_forgotten(self) -> Iterator[str]:
        for key, versions in self.world.versions[memories.COLLECTION].items():
            for (_, before), (_, after) in pairwise(written(versions)):
                if before["status"] == "forgotten" and after["status"] != "forgotten":
                    yield f"{key[:9]} was forgotten, and is {after['status']}"


def is_whole(process: Process[Any]) -> bool:
    """True if nothing of it went wrong, so that it did all of its work or none."""
    return process.ended >= 0 and not (process.faults or process.error)
